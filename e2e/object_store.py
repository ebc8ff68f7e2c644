"""Run an S3 server with TLS for the browser tests. It checks credentials.

Prints one line of JSON when it responds; ends when its standard input closes.
"""

import json
import logging
import sys
import tempfile
import threading
from pathlib import Path

import boto3
from moto import settings
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from backend.tests.support.certificates import sign  # noqa: E402

BUCKET = "backups"
SETUP_REQUESTS = 4
"""Requests of `create_bucket`, which are accepted without a valid access key."""
POLICY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}


def main() -> None:
    settings.INITIAL_NO_AUTH_ACTION_COUNT = SETUP_REQUESTS
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        ca = sign("Test CA")
        certificate = sign("localhost", ca, names=("localhost",))
        files = [Path(folder) / name for name in ("certificate.pem", "key.pem", "ca.pem")]
        files[0].write_text(certificate.pem)
        files[1].write_text(certificate.key_pem)
        files[2].write_text(ca.pem)
        application = DomainDispatcherApplication(create_backend_app)
        server = make_server("127.0.0.1", 0, application, threaded=True, ssl_context=(str(files[0]), str(files[1])))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"https://localhost:{server.server_port}"
        key = create_bucket(url, str(files[2]))
        print(json.dumps({"url": url, "ca": ca.pem, "bucket": BUCKET, "key": key}), flush=True)
        sys.stdin.read()


def create_bucket(url: str, ca: str) -> list[str]:
    """Create a bucket and a user, and return the access key of the user."""
    options = {
        "endpoint_url": url,
        "verify": ca,
        "region_name": "us-east-1",
        "aws_access_key_id": "a",
        "aws_secret_access_key": "b",
    }
    boto3.client("s3", **options).create_bucket(Bucket=BUCKET)
    iam = boto3.client("iam", **options)
    iam.create_user(UserName="backup")
    iam.put_user_policy(UserName="backup", PolicyName="all", PolicyDocument=json.dumps(POLICY))
    key = iam.create_access_key(UserName="backup")["AccessKey"]
    return [key["AccessKeyId"], key["SecretAccessKey"]]


if __name__ == "__main__":
    main()
