"""A producer for a plain HTTP queue: no SDK, nothing but the standard library.

python3 publish.py BASE_URL KEY QUEUE BATCH_ID COUNT
"""

import json
import sys
import time
import urllib.error
import urllib.request

base_url, key, queue, batch_id, count = sys.argv[1:]
messages = [{"body": {"operation_key": f"{batch_id}:{n}", "n": n}} for n in range(int(count))]
body = json.dumps({"queue": queue, "messages": messages}).encode()
headers = {
    "Authorization": f"Bearer {key}",
    "Content-Type": "application/json",
    "Idempotency-Key": batch_id,
}

seen = []
for attempt in range(10):
    request = urllib.request.Request(f"{base_url}/queue/publish_batch", data=body, headers=headers)
    try:
        with urllib.request.urlopen(request) as response:
            status, retry_after = response.status, None
    except urllib.error.HTTPError as error:
        status, retry_after = error.code, error.headers.get("Retry-After")
    seen.append(status)
    if status not in (429, 503):
        break
    time.sleep(int(retry_after))

print(json.dumps(seen))
sys.exit(0 if seen[-1] in (200, 202) else 1)
