"""The models: tasks, token laws, attentions."""
