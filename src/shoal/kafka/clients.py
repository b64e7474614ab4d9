"""Clients of librdkafka, as shoal needs them: silent, patient for a while, and failing in sentences."""

from __future__ import annotations

import logging
import re
import time
from typing import Any

from shoal.errors import EngineError, ParameterError, ShoalError
from shoal.progress import say
from shoal.registry import package

_log = logging.getLogger("shoal.kafka")
_log.addHandler(logging.NullHandler())
_log.propagate = False  # librdkafka tells what goes wrong while it mends it; what it cannot mend becomes a sentence

_AWAY = {"_ALL_BROKERS_DOWN", "_TRANSPORT", "_RESOLVE", "_TIMED_OUT", "_SSL", "_AUTHENTICATION", "_DESTROY_BROKER"}
_WHY = {
    "_AUTHENTICATION": "does not let us in. Check the login in the file that ?config= names",
    "_SSL": "does not speak TLS with us. Check security.protocol and the certificates in the file that ?config= names",
    "_RESOLVE": "has a name that is not known. Check the host in the URL",
}
_DENIED = {
    "TOPIC_AUTHORIZATION_FAILED": "the topic",
    "GROUP_AUTHORIZATION_FAILED": "the consumer group",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "transactional ids that begin with shoal-",
    "CLUSTER_AUTHORIZATION_FAILED": "the cluster",
}
_TOO_LARGE = {"MSG_SIZE_TOO_LARGE", "_MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_MSG_SIZE"}


def sentence(owner: str, error: Any) -> ShoalError:
    """Return what to raise for an error of librdkafka; its own text may hold settings, and is left out."""
    name = error.name()
    if name in _DENIED:
        return EngineError(f"{owner}: the broker does not let us use {_DENIED[name]}. Ask for the right to it.")
    if name in _TOO_LARGE:
        return EngineError(
            f"{owner}: a tuple that leaves is larger than the output topic takes; nothing of its class left. Raise "
            "max.message.bytes of the topic, and message.max.bytes in the file that ?config= names."
        )
    return EngineError(f"{owner}: Kafka failed with {name}. Check the log of the broker.")


class Clients:
    """Makes consumers, producers and administrators of one cluster, and knows whether it answers."""

    def __init__(self, servers: str, properties: dict[str, str], patience: float):
        self.owner = f"kafka://{servers}"
        self.kafka = package("confluent_kafka", "kafka", self.owner)
        self.patience = patience
        self._common = {**properties, "bootstrap.servers": servers}
        self._away: float | None = None
        self._why = ""

    def consumer(self, **own: Any) -> Any:
        """Make a consumer; underscores stand for dots."""
        return self._made(self.kafka.Consumer, {"queued_max_messages_kbytes": 16384, **own})

    def producer(self, **own: Any) -> Any:
        """Make a producer; underscores stand for dots."""
        return self._made(self.kafka.Producer, own)

    def admin(self) -> Any:
        """Make what asks for topics and settings."""
        return self._made(package("confluent_kafka.admin", "kafka", self.owner).AdminClient, {})

    def _made(self, kind: Any, own: dict[str, Any]) -> Any:
        settings = {name.replace("_", "."): value for name, value in own.items()}
        try:
            return kind({**settings, **self._common, "error_cb": self._heard, "logger": _log})
        except self.kafka.KafkaException as error:
            found = re.search(r'property[: ]+"([a-z0-9._]+)"', error.args[0].str())
            raise ParameterError(
                f"{self.owner}: librdkafka does not take {found[1] if found else 'a property'} as the file that "
                "?config= names sets it. Correct it there."
            ) from None

    def _heard(self, error: Any) -> None:
        """Take note of what librdkafka says on its own."""
        if error.name() in _AWAY and (self._away is None or error.name() in _WHY):
            self._why = _WHY.get(error.name(), self._why)
            if self._away is None:
                self._away = time.monotonic()
                say(f"{self.owner}: the broker {self._why or 'does not answer'}. Trying for {self.patience:g} seconds.")

    def answered(self) -> None:
        """Take note that the cluster answers."""
        if self._away is not None:
            self._away, self._why = None, ""
            say(f"{self.owner}: the broker answers again.")

    def check(self, client: Any) -> None:
        """Ask a cluster that did not answer once more, and give up when it has not for too long."""
        if self._away is None:
            return
        try:
            client.list_topics(timeout=0.5)
        except self.kafka.KafkaException:
            self.give_up_after(self._away)
        else:
            self.answered()

    def give_up_after(self, began: float) -> None:
        """Raise, if it has been longer than patience allows."""
        if time.monotonic() - began > self.patience:
            why = self._why or "does not answer. Check that it runs, and the host and port in the URL"
            raise EngineError(f"{self.owner}: the broker {why}; gave up after {self.patience:g} seconds.")

    def listed(self, client: Any) -> Any:
        """Return what topics there are; wait for a cluster that does not answer yet."""
        began = time.monotonic()
        while True:
            try:
                found = client.list_topics(timeout=min(2.0, self.patience))
            except self.kafka.KafkaException as error:
                self._heard(error.args[0])
                client.poll(0)  # so that we hear why
                if error.args[0].name() not in _AWAY:
                    raise sentence(self.owner, error.args[0]) from None
                if self._why:  # waiting mends no login
                    raise EngineError(f"{self.owner}: the broker {self._why}.") from None
                self.give_up_after(began)
            else:
                self.answered()
                return found
