"""Generalised linear models: responses, links, designs, and the sums over rows that Newton's method needs."""

from suffice.glm.links import Link, Power, as_link
from suffice.glm.response_names import as_response
from suffice.glm.responses import Response

__all__ = ["Link", "Power", "Response", "as_link", "as_response"]
