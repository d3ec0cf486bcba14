"""A company's backend that gives each signed-in customer a token for their own records, and for no one else's."""

import json
import os
import re
import sys
import threading
import time
import urllib.request
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORTAL = os.environ["PORTAL_URL"]
TENANT_ID = os.environ["PORTAL_TENANT"]
KEY_ID = os.environ["PORTAL_KEY_ID"]
# The API key stays in the backend. Browsers and apps get tokens only.
KEY = os.environ["PORTAL_KEY"]
# Customer ids by session cookie. Replace it with your own sign-in.
SESSIONS = json.loads(os.environ["SESSIONS"])


def signed_in_customer(headers):
    session = re.search(r"(?:^|;\s*)session=([^;]+)", headers.get("Cookie", ""))
    return None if session is None else SESSIONS.get(session[1])


def mint_token(customer_id):
    own = [{"field": "customerId", "in": [customer_id]}]
    rows = {"invoices": own, "credit-memos": own, "customers": [{"field": "id", "in": [customer_id]}]}
    token = {"subject": f"customer:{customer_id}", "expiresInSeconds": 900, "scopes": {"rows": rows}}
    request = urllib.request.Request(
        f"{PORTAL}/api/platform/v1/api-keys/{KEY_ID}/tokens",
        data=json.dumps({"tokens": [token]}).encode(),
        headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)["tokens"][0]


minted = {}
lock = threading.Lock()


def token_for(customer_id):
    """Tokens are reused until a minute before they end. Remove a customer's when you end it: DELETE /api-keys/{id}/tokens."""
    with lock:
        known = minted.get(customer_id)
        if known is None or datetime.fromisoformat(known["expiresAt"].replace("Z", "+00:00")).timestamp() - time.time() < 60:
            known = minted[customer_id] = mint_token(customer_id)
        return known


class Backend(BaseHTTPRequestHandler):
    def do_GET(self):
        customer_id = signed_in_customer(self.headers)
        if self.path != "/records-token":
            return self.answer(404, {"error": "Not found"})
        if customer_id is None:
            return self.answer(401, {"error": "Sign in first"})
        try:
            token = token_for(customer_id)
        except (OSError, KeyError, ValueError) as error:
            print(error, file=sys.stderr)
            return self.answer(502, {"error": "Records are unavailable at the moment"})
        self.answer(
            200,
            {"url": f"{PORTAL}/api/public/v1", "tenantId": TENANT_ID, "token": token["token"], "expiresAt": token["expiresAt"]},
        )

    def answer(self, status, body):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """No request log: addresses and sessions aren't this example's business."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8082"))), Backend)
    print("The backend is ready", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()
