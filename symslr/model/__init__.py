"""What is studied: tasks, token laws, attentions."""
