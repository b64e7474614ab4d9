"""What a link over NATS refuses, and that it does so in a sentence without any secret."""

from __future__ import annotations

import gc
import random
import re
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import DataError, EngineError, ParameterError, ShoalError
from shoal.stream.channels._nats_connection import INPUT, OUTPUT, Address, Connection
from shoal.stream.channels.nats import Nats
from shoal.types.stream import Cursor, Journey, Leaving, Outgoing, Tally


def journey(source: str = "nats://h/IN", target: str = "nats://h/OUT", **more: Any) -> Journey:
    return Journey(source, target, {"k": 3, "delay": 10}, "f", **more)


def test_another_recipe_is_refused_and_named(broker: Any, opened: Any) -> None:
    broker.make("IN")
    broker.publish("IN", [b"{}"] * 4)
    link = opened(promises={"k": 3, "delay": 10, "quasi": ["a"]})
    while link.fetch(10, 0.3) is not None:
        pass
    link.commit(
        [Outgoing("", [], [], Cursor(3, 4, tally=Tally(read=3, dropped=3)))]
    )  # before that another recipe may begin
    link.close()
    with pytest.raises(DataError, match=r"OUT_\w+: this stream was started with another delay, k\. Continue as it was"):
        opened(promises={"k": 2, "delay": 20, "quasi": ["a"]})
    opened(promises={"k": 3, "delay": 10, "quasi": ["a"]})


def test_another_input_is_refused(broker: Any, opened: Any) -> None:
    broker.make("IN")
    broker.make("IN2")
    opened().close()
    with pytest.raises(DataError, match="the input must be the one that its classes were formed from"):
        opened("IN2")
    with pytest.raises(DataError, match="the input must be the one that its classes were formed from"):
        opened(after=f"?subject={broker.name('IN')}.eu")


def test_an_input_that_was_made_anew_is_refused(broker: Any, opened: Any) -> None:
    broker.make("IN")
    opened().close()
    broker.api(f"STREAM.DELETE.{broker.name('IN')}")
    broker.make("IN")
    with pytest.raises(DataError, match="or a recreated one"):
        opened()


def test_an_output_that_was_emptied_is_not_begun_anew(broker: Any, opened: Any) -> None:
    broker.make("IN")
    broker.publish("IN", [b"{}"] * 9)
    link = opened(after="")
    assert sum(len(came.records) for came in iter(lambda: link.fetch(9, 0.3), None)) == 9
    link.commit([Outgoing("", [Leaving(0, [b"{}"] * 9, range(1, 10))], [], Cursor(9, 10))])
    link.close()
    broker.api(f"STREAM.PURGE.{broker.name('OUT')}")
    with pytest.raises(EngineError, match=r"got nothing, although the input's consumer has started"):
        opened()
    assert opened(after="?until=end&consumer=again").lanes() == {"": Cursor()}


def test_a_state_that_no_message_can_hold_is_refused(broker: Any, opened: Any) -> None:
    broker.make("IN")
    link = opened(after="")
    with pytest.raises(EngineError, match=r"the state must have at most 1,047,552 bytes, got [\d,]+\. Raise max"):
        link.commit([Outgoing("", [], [], Cursor(0, 1, random.Random(0).randbytes(2_000_000)))])


def test_a_stream_that_does_not_suit_is_refused(broker: Any, opened: Any) -> None:
    broker.make("IN")
    with pytest.raises(DataError, match="there is no such stream"):
        opened("NOWHERE")
    for what, config, words in (
        ("PLAIN", {}, "must allow atomic batches"),
        ("QUEUE", {"allow_atomic": True, "retention": "workqueue"}, "must keep messages that were read"),
        ("SHORT", {"allow_atomic": True, "max_age": 10**9}, "must allow exceptions"),
        ("ELSEWHERE", {"allow_atomic": True, "subjects": [f"{broker.name('x')}.>"]}, "must hold the subject"),
    ):
        broker.make(what, **config)
        with pytest.raises(ParameterError, match=words):
            opened(target=what)
    with pytest.raises(ParameterError, match=r"must hold the subject other\.dead"):
        opened(dead="other.dead")
    for dead in ("letters/dead.jsonl", broker.at("IN"), "a.*"):
        with pytest.raises(
            ParameterError, match=r"rejected records must go to a subject of the output stream.*OUT_\w+\.dead\."
        ):
            opened(dead=dead)


def test_messages_that_grow_old_leave_the_cursor(broker: Any, opened: Any) -> None:
    broker.make("IN")
    broker.make("OLD", allow_atomic=True, allow_msg_ttl=True, max_age=10**10)
    opened(target="OLD")
    assert broker.read("OLD", "state")[-1][0]["Nats-TTL"] == "never"


def test_a_state_of_somebody_else_is_refused(broker: Any, opened: Any) -> None:
    broker.make("IN")
    broker.make("OUT", allow_atomic=True)
    broker.publish("OUT", [b"4711 is no state"], subject="state")
    with pytest.raises(DataError, match=r"the last message of OUT_\w+.state must be one that this version") as caught:
        opened()
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (journey("people.jsonl"), "the input must be nats://HOST:PORT/STREAM too"),
        (journey(target="-"), "the output must be nats://HOST:PORT/STREAM too"),
        (journey(header=True), "messages must hold JSON, got CSV"),
        (journey(force=True), "--force is not possible with NATS"),
        (journey(target="nats://h/IN"), "the output must be another stream than the input"),
        (journey("nats://h"), "must be written nats://HOST:PORT/STREAM"),
        (journey("nats://h/a.b"), "must be written nats://HOST:PORT/STREAM"),
        (journey("nats://h:port/IN"), "must be written nats://HOST:PORT/STREAM"),
        (
            journey("nats://h/IN?sbject=a"),
            "nats://h/IN: the options must be among subject, consumer",
        ),
        (journey("nats://h/IN?until=noon"), "until must be end, got something else"),
        (journey("nats://h/IN?until=end&until=end"), "an option must be given once"),
        (journey("nats://h/IN?consumer=a.b"), "consumer must be letters, digits, - and _"),
        (journey("nats://h/IN?creds=nowhere"), "creds must be an existing file"),
        (journey(target="nats://h/OUT?subject=a.*"), "subject must be a subject without"),
        (journey(target="nats://h/OUT?replicas=9"), "replicas must be 1 to 5"),
        (
            journey(target="nats://h/OUT?until=end"),
            "the options must be among subject, replicas, creds, tls, ca",
        ),
    ],
)
def test_a_journey_that_cannot_be_is_refused(given: Journey, words: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(words)):
        Nats().open(given)


@pytest.mark.parametrize(
    "url",
    [
        "nats://ann:hunter2@host/IN?nonsense=1",
        "nats://ann:hun/ter2@host",
        "nats://ann:hunter2@host:x/IN",
        "nats://hunter2@host/I N",
        "nats://ann:hun?ter2@host/IN",
        "nats://ann:hunter2@host",
    ],
)
def test_no_secret_is_shown(url: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Address.read(url, INPUT)
    assert "hun" not in str(caught.value)
    assert "ter2" not in str(caught.value)


def test_an_address_shows_no_secret() -> None:
    address = Address.read("nats://ann:p%40ss@host/IN", OUTPUT)
    assert address.password == "p@ss"
    assert "ann" not in str(address) + repr(address)
    assert Address.read("NATS://token@host/IN", OUTPUT).user == "token"


def test_a_server_that_is_away_is_an_error_of_the_engine() -> None:
    with pytest.raises(EngineError, match=r"127.0.0.1:1/IN: the server could not be reached within 0.3 s") as caught:
        Nats().open(journey("nats://ann:hunter2@127.0.0.1:1/IN?patience=0.3", "nats://127.0.0.1:1/OUT"))
    assert "hunter2" not in str(caught.value)
    assert caught.value.exit_code == 5


def test_users(new_server: Any) -> None:
    users = 'authorization { users = [ { user: ann, password: "hun@ter2" } ] }'
    server = new_server(config=users)
    server.start()
    try:
        host = f"127.0.0.1:{server.port}"
        for who in ("", "ann:wrong@", "hun@ter2@"):
            with pytest.raises(EngineError, match=r"the server rejects this user") as caught:
                Nats().open(journey(f"nats://{who}{host}/IN", f"nats://{host}/OUT"))
            assert "wrong" not in str(caught.value)
            assert "ter2" not in str(caught.value)
        with pytest.raises(DataError, match="there is no such stream"):
            Nats().open(journey(f"nats://ann:hun%40ter2@{host}/IN", f"nats://ann:hun%40ter2@{host}/OUT"))
    finally:
        server.gone()


def test_no_password_is_printed(new_server: Any, new_broker: Any, run: Any) -> None:
    server = new_server(config='authorization { users = [ { user: ann, password: "hunter2" } ] }')
    server.start()
    try:
        helper = new_broker(server, user="ann", password="hunter2")
        helper.make("IN")
        helper.publish("IN", [b'{"a": 1}'] * 20)
        helper.close()
        host = f"nats://ann:hunter2@127.0.0.1:{server.port}"
        ends = [f"{host}/{helper.name('IN')}?until=end", "-o", f"{host}/{helper.name('OUT')}"]
        for more in ((), ("--json",), ("--k", "4")):
            ran = run("stream", *ends, "--quasi", "a", "--bounds", "a=0:9", "--k", "3", "--delay", "10", *more)
            assert ran.code == (3 if "4" in more else 0)
            assert "hunter2" not in ran.out + ran.err
    finally:
        server.gone()


def test_a_server_without_jetstream(new_server: Any) -> None:
    server = new_server(config="jetstream: disabled\n")
    server._command = [one for one in server._command if one != "-js"]
    server.start()
    try:
        with pytest.raises(EngineError, match=r"JetStream did not answer within 0.5 s .* Check that it is enabled"):
            Nats().open(journey(f"{server.url}/IN?patience=0.5", f"{server.url}/OUT?patience=0.5"))
    finally:
        server.gone()


def test_credentials_need_their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "nkeys", None)
    creds = tmp_path / "user.creds"
    creds.write_text("-----BEGIN NATS USER JWT-----\n")
    with pytest.raises(ParameterError, match=r"needs the package nkeys. Install it with pip install 'shoal\[nats\]'"):
        Nats().open(journey(f"nats://127.0.0.1:1/IN?creds={creds}"))


def test_every_refusal_is_an_error_of_shoal_with_a_remedy() -> None:
    for url in ("nats://", "nats:///", "nats://h/", "nats://h/S?x", "nats://[::1/S"):
        with pytest.raises(ShoalError, match=r"\.$"):
            Address.read(url, INPUT)
    assert Address.read("nats://[::1]:4333/S", INPUT).servers == ("nats://[::1]:4333",)
    assert Address.read("nats://h/S?tls=on", INPUT).servers == ("tls://h:4222",)


def test_transport_layer_security(new_server: Any, tmp_path: Path) -> None:
    certificate, key = certified(tmp_path)
    server = new_server(config=f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}')
    server.start()
    try:
        host = f"127.0.0.1:{server.port}"
        with pytest.raises(DataError, match="there is no such stream"):
            Nats().open(journey(f"nats://{host}/IN?ca={certificate}", f"nats://{host}/OUT?ca={certificate}"))
        with pytest.raises(EngineError, match=r"could not be reached within 1 s \(SSLCertVerificationError\)"):
            Nats().open(journey(f"nats://{host}/IN?tls=on&patience=1", f"nats://{host}/OUT?tls=on"))
        with pytest.raises(ParameterError, match="ca must be a file of certificates"):
            Nats().open(journey(f"nats://{host}/IN?ca={__file__}", f"nats://{host}/OUT"))
    finally:
        server.gone()


def certified(folder: Path) -> tuple[Path, Path]:
    """Make a certificate of 127.0.0.1, signed by itself."""
    import datetime
    import ipaddress

    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
    made = made.add_extension(x509.BasicConstraints(True, None), True)
    certificate = made.sign(key, hashes.SHA256())
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(key.private_bytes(*plain))
    return folder / "cert.pem", folder / "key.pem"


def test_a_connection_that_is_given_up_leaves_nothing_behind(capfd: pytest.CaptureFixture[str]) -> None:
    class Enough(BaseException):
        pass

    def enough(*_: object) -> None:
        raise Enough

    before = signal.signal(signal.SIGALRM, enough)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(Enough):
            Connection(Address.read("nats://127.0.0.1:1/IN?patience=20", INPUT))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    gc.collect()
    assert capfd.readouterr().err == ""
