"""What is asked for, checked before any number: inputs, the model at these values, means that exist, the definition."""
