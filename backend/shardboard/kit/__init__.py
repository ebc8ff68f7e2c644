"""Small tools without knowledge of the product: bus, tasks, logs, memory."""
