"""Communication with agents about failure drills."""
