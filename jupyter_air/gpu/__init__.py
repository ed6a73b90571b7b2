"""What GPUs do: readings, their history, and the loop that takes them. Knows nothing of runs or jobs."""
