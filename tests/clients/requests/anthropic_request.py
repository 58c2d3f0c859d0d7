"""One request with the Anthropic SDK for Python through the relay, and what became of it."""

import json
import os
import time

from anthropic import Anthropic, APIStatusError

retries = {"max_retries": int(os.environ["RETRIES"])} if os.environ.get("RETRIES") else {}
url = f"{os.environ['LOCKPORT_URL']}/transparent/messages/{os.environ['LOCKPORT_KEY']}"
client = Anthropic(base_url=url, api_key="sk-ant-own", **retries)
started = time.monotonic()
try:
    answer = client.messages.create(
        model=os.environ["MODEL"], max_tokens=16, messages=[{"role": "user", "content": "Hello"}]
    )
    outcome = {"name": "none", "text": answer.content[0].text}
except APIStatusError as error:
    outcome = {"name": type(error).__name__, "status": error.status_code, "message": str(error)}
print(json.dumps({**outcome, "elapsedMs": (time.monotonic() - started) * 1000}))
