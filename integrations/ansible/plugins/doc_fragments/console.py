"""Documentation of the options that several modules have."""


class ModuleDocFragment:
    DOCUMENTATION = """
options:
  url:
    description:
      - URL of the console, for example C(https://console.example.org:9443).
      - The default is the environment variable E(SHARDBOARD_URL).
    type: str
    required: true
  token:
    description:
      - Service token. The default is the environment variable E(SHARDBOARD_TOKEN).
      - Use O(username) and O(password_of_user) for Redis Software.
    type: str
  username:
    description: User that sends the requests. The default is the environment variable E(SHARDBOARD_USERNAME).
    type: str
  password_of_user:
    description: Password of O(username). The default is the environment variable E(SHARDBOARD_PASSWORD).
    type: str
  ca_file:
    description:
      - File with the certificate of the console CA.
      - The default is the environment variable E(SHARDBOARD_CA_FILE), and otherwise the CAs of the operating system.
    type: path
  validate_certs:
    description: Whether to verify the certificate of the console.
    type: bool
    default: true
  wait_timeout:
    description: Number of seconds to wait for the end of an action, or until the console accepts a request.
    type: int
    default: 300
notes:
  - The module runs where it can reach the console. Set C(connection) to C(local) to run it on the controller.
"""

    OBJECT = """
options:
  name:
    description: Name of the object.
    type: str
  uid:
    description: Uid of the object. Required only to rename it, or if several objects have the same name.
    type: int
  state:
    description: Whether the object exists.
    type: str
    choices: [present, absent]
    default: present
  settings:
    description: Other fields of the REST API. They have priority over the options.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Reports changes without making them.
  diff_mode:
    support: full
    description: Returns the fields that differ, without secrets.
"""
