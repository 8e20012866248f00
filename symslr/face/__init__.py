"""What a theorist types: quantities as numbers and curves, least risks, samples, citations."""
