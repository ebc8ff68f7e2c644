"""Starting, changing and deleting benchmark runs."""
