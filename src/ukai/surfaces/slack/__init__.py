"""The Slack surface: one agent as one Slack app, over socket mode or HTTP (P4.4).

    async with slack.opened(slack.served(reception, "deal-coach"), slack.keys(environ)) as app:
        ...                        # socket mode is connected; over HTTP, `await app.http(request)` answers Slack

Nothing is acknowledged before it is saved (`app.deliveries`), and nothing of an answer is sent before it is whole.
"""

from ukai.surfaces.slack.asking import SURFACE as CHANNEL
from ukai.surfaces.slack.asking import served
from ukai.surfaces.slack.installed import Keys, NoKeys, NoSlack, Served, Slack, keys, opened

__all__ = ["CHANNEL", "Keys", "NoKeys", "NoSlack", "Served", "Slack", "keys", "opened", "served"]
