"""Makes the checks that the queue holds, and all else that the service does by itself: Celery is its bell."""
