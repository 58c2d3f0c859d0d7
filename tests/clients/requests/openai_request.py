"""One request with the OpenAI SDK for Python, and what became of it."""

import json
import os
import time

from openai import APIStatusError, OpenAI

retries = {"max_retries": int(os.environ["RETRIES"])} if os.environ.get("RETRIES") else {}
client = OpenAI(base_url=os.environ["LOCKPORT_URL"] + "/v1", api_key=os.environ["LOCKPORT_KEY"], **retries)
started = time.monotonic()
try:
    answer = client.chat.completions.create(
        model=os.environ["MODEL"], messages=[{"role": "user", "content": "Hello"}]
    )
    outcome = {"name": "none", "text": answer.choices[0].message.content}
except APIStatusError as error:
    outcome = {"name": type(error).__name__, "status": error.status_code, "code": error.code, "message": str(error)}
print(json.dumps({**outcome, "elapsedMs": (time.monotonic() - started) * 1000}))
