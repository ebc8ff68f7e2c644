"""HTTP server: sockets, connection limits and client addresses."""
