"""Handshakes that no honest client makes, sent to the API listener by tlslite-ng: tls-attacks.py HOST:PORT CERTIFICATE KEY

Each must end without one byte of HTTP, and an honest client must be served afterwards. Prints a line for each that came through.
"""

import random
import socket
import sys

from tlslite.api import HandshakeSettings, TLSConnection, X509CertChain, parsePEMKey

host, port = sys.argv[1].rsplit(":", 1)
certificate_text = open(sys.argv[2]).read()
key = parsePEMKey(open(sys.argv[3]).read(), private=True)
request = b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
versions = {"TLS 1.2": (3, 3), "TLS 1.3": (3, 4)}
patience_seconds = 20


def chain_of(text, copies=1):
    chain = X509CertChain()
    chain.parsePemList(text * copies)
    return chain


class Forger:
    """A private key that signs as it is told, and calls everything that it signed good."""

    def __init__(self, honest, forge):
        self._honest, self._forge = honest, forge

    def __getattr__(self, name):
        return getattr(self._honest, name)

    def __len__(self):
        return len(self._honest)

    def sign(self, *args, **kwargs):
        return self._forge(bytearray(self._honest.sign(*args, **kwargs)))

    def hashAndSign(self, *args, **kwargs):
        return self._forge(bytearray(self._honest.hashAndSign(*args, **kwargs)))

    def verify(self, *args, **kwargs):
        return True


def flipped(signature):
    signature[-1] ^= 1
    return signature


def spoken(version, chain, private_key, tamper=None):
    """What comes back over one connection; b"" where it ended without an answer."""
    connection = TLSConnection(socket.create_connection((host, int(port)), patience_seconds))
    settings = HandshakeSettings()
    settings.minVersion = settings.maxVersion = version
    # OpenSSL asks for no compressed certificate, and tlslite-ng would send one.
    settings.certificate_compression_send = settings.certificate_compression_receive = []
    received = b""
    try:
        if tamper is not None:
            tamper(connection)
        connection.handshakeClientCert(chain, private_key, settings=settings)
        connection.write(request)
        while True:
            more = connection.read(max=65536)
            if not more:
                break
            received += bytes(more)
    except Exception:  # Alerts, resets: the ways in which a server says no.
        pass
    finally:
        connection.sock.close()
    return received


def no_certificate_verify(connection):
    """Leaves out the proof that the client has its key."""
    send = connection._sendMsg

    def without(message, *args, **kwargs):
        if type(message).__name__ == "CertificateVerify":
            return iter(())
        return send(message, *args, **kwargs)

    connection._sendMsg = without
    queue = connection._queue_message

    connection._queue_message = lambda message: iter(()) if type(message).__name__ == "CertificateVerify" else queue(message)


def wrong_finished(connection):
    """Sends a Finished over another handshake."""
    send = connection._sendMsg

    def changed(message, *args, **kwargs):
        if type(message).__name__ == "Finished":
            message.verify_data = bytearray(len(message.verify_data))
        return send(message, *args, **kwargs)

    connection._sendMsg = changed


def mangled_records():
    """Honest first bytes with a few octets changed, cut or repeated: the service must outlive them."""
    ours, theirs = socket.socketpair()
    theirs.shutdown(socket.SHUT_WR)
    try:
        TLSConnection(ours).handshakeClientCert(chain_of(certificate_text), key)
    except Exception:  # Nobody answers; the first flight is what is wanted.
        pass
    hello = theirs.recv(65536)
    randomly = random.Random(6)
    for _ in range(300):
        bytes_now = bytearray(hello)
        for _ in range(randomly.randint(1, 4)):
            bytes_now[randomly.randrange(len(bytes_now))] = randomly.randrange(256)
        cut = bytes_now[: randomly.randint(1, len(bytes_now))] if randomly.random() < 0.3 else bytes_now
        with socket.create_connection((host, int(port)), patience_seconds) as plain:
            try:
                plain.sendall(bytes(cut))
                plain.shutdown(socket.SHUT_WR)
                while True:
                    answer = plain.recv(65536)
                    if not answer:
                        break
                    if b"HTTP/" in answer:
                        return answer
            except OSError:
                pass
    return b""


def attacks():
    honest = chain_of(certificate_text)
    for name, version in versions.items():
        yield f"{name}: no certificate", lambda: spoken(version, None, None)
        yield f"{name}: a signature with one bit changed", lambda: spoken(version, honest, Forger(key, flipped))
        yield f"{name}: an empty signature", lambda: spoken(version, honest, Forger(key, lambda _: bytearray()))
        yield f"{name}: a signature of zeros", lambda: spoken(version, honest, Forger(key, lambda made: bytearray(len(made))))
        yield f"{name}: a signature of 60,000 octets", lambda: spoken(version, honest, Forger(key, lambda _: bytearray(60000)))
        yield f"{name}: no CertificateVerify", lambda: spoken(version, honest, key, no_certificate_verify)
        yield f"{name}: a wrong Finished", lambda: spoken(version, honest, key, wrong_finished)
        yield f"{name}: a chain of 500 certificates", lambda: spoken(version, chain_of(certificate_text, 500), key)
    yield "300 mangled hellos", mangled_records


came_through = 0
for title, attack in attacks():
    if attack() != b"":
        came_through += 1
        print(f"came through: {title}")
for name, version in versions.items():
    answer = spoken(version, chain_of(certificate_text), key)
    if not answer.startswith(b"HTTP/1.1 404"):
        came_through += 1
        print(f"an honest client is not served over {name}: {answer[:80]!r}")
print(f"tlslite-ng: {len(list(attacks()))} attacks, {came_through} came through")
sys.exit(1 if came_through else 0)
