"""Orders: how a long operation is queued, whoever asks for it, a person or a loop. Carrying them out is the reconcilers'."""
