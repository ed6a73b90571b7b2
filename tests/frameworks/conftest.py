from tests.runs.conftest import created, tracked, tracked_session

__all__ = ["created", "tracked", "tracked_session"]
