"""MLflow: its stores on this machine, its servers, its pages. It is imported by ``daemon`` and ``creation`` alone."""
