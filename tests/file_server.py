"""A file server on this machine that behaves as badly as it is told to, and what its files are compared with."""

import gc
import hashlib
import os
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONTENT = os.urandom(600_000)


def sha(content):
    return hashlib.sha256(content).hexdigest()


def files(root):
    """All files below the root but the records."""
    return {
        p.relative_to(root).as_posix()
        for p in root.rglob("*")
        if p.is_file() and p.suffix != ".files"
    }


class FileServer:
    """Serves `files`, bytes by path.

    Attributes
    ----------
    cuts : int
        How many of the next answers break off half-way.
    status : int
        Another answer than the file.
    requests : list of str
        Paths of all requests so far.
    """

    def __init__(self, url):
        self.url = url
        self.files, self.requests = {}, []
        self.cuts, self.status = 0, 200


@contextmanager
def serving():
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.requests.append(self.path)
            body = server.files.get(self.path)
            status = server.status if body is not None else 404
            if status != 200:
                self.send_error(status)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if server.cuts:
                server.cuts -= 1
                body = body[: len(body) // 2]
            with suppress(ConnectionError):  # the client may go away
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server = FileServer(f"http://127.0.0.1:{http.server_port}")
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
            # Connections that failed are collected in the test that let them fail.
            gc.collect()
