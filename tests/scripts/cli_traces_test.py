"""Traces from outside: a collector that OpenTelemetry's own variables name gets them."""
import http.server
import json
import threading
import time
import urllib.request

from pal_run import PalTest, main, start_server


class Collector(http.server.ThreadingHTTPServer):
    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handling)
        self.seen = []  # path, headers, body
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def spans(self):
        return [span for _, _, body in self.seen
                for resource in body["resourceSpans"]
                for scope in resource["scopeSpans"] for span in scope["spans"]]


class Handling(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.path, self.headers, json.loads(body)))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


class Traces(PalTest):
    def chat(self, address):
        body = json.dumps({"message": "CANARY words"}).encode()
        request = urllib.request.Request(f"http://{address}/api/v1/chat", body,
                                         {"Content-Type": "application/json"})
        self.assertEqual(urllib.request.urlopen(request, timeout=30).status, 200)

    def test_a_collector_of_the_environment_gets_the_spans_of_a_turn(self):
        collector = Collector()
        self.addCleanup(collector.server_close)
        self.addCleanup(collector.shutdown)
        _, address = start_server(self, env={
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
            "OTEL_EXPORTER_OTLP_HEADERS": "x-token=a%20b,x-other=c",
            "OTEL_SERVICE_NAME": "memory-1"})
        self.chat(address)
        end = time.monotonic() + 30
        while not any(span["name"] == "POST /api/v1/chat" for span in collector.spans()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        path, headers, body = collector.seen[0]
        self.assertEqual((path, headers["x-token"], headers["x-other"]), ("/v1/traces", "a b", "c"))
        names = {span["name"] for span in collector.spans()}
        self.assertLessEqual({"turn", "memory.begin", "memory.finish", "chat echo"}, names)
        service = body["resourceSpans"][0]["resource"]["attributes"][0]
        self.assertEqual(service, {"key": "service.name", "value": {"stringValue": "memory-1"}})
        self.assertNotIn("CANARY", json.dumps([seen[2] for seen in collector.seen]))

    def test_what_waits_is_sent_when_the_server_ends(self):
        collector = Collector()
        self.addCleanup(collector.server_close)
        self.addCleanup(collector.shutdown)
        process, address = start_server(self, "--otlp-endpoint",
                                        f"http://127.0.0.1:{collector.server_port}/v1/traces")
        self.chat(address)
        process.terminate()
        process.wait(30)
        self.assertIn("POST /api/v1/chat", {span["name"] for span in collector.spans()})

    def test_settings_that_cannot_be_are_refused(self):
        self.fails(2, "invalid_request", "serve", "--check", "--otlp-endpoint", "collector")
        self.fails(2, "invalid_request", "serve", "--check", "--otlp-endpoint", "http://localhost",
                   env={"OTEL_EXPORTER_OTLP_HEADERS": "no-value"})


if __name__ == "__main__":
    main()
