"""Create, change, and delete objects that have a uid and a name, so that a second run changes nothing."""

from __future__ import annotations

import json

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.shardboard.console.plugins.module_utils.console import CONNECTION, RULES, Console, Failed

OBJECT = {
    "name": {"type": "str"},
    "uid": {"type": "int"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "settings": {"type": "dict", "default": {}},
}


class Kind:
    """A kind of object.

    `fields` are options that are fields of the REST API. `identifiers` are the fields that identify an object, in the order of
    priority. `hidden` is the field that the console does not return, and `update_option` the option that controls its changes.
    """

    def __init__(self, title, path, fields, identifiers=("name",), hidden=None, update_option=None):
        self.title = title
        self.path = path
        self.fields = fields
        self.identifiers = identifiers
        self.hidden = hidden
        self.update_option = update_option

    def arguments(self, more=None):
        """Return the arguments of AnsibleModule. `more` are options that are not fields."""
        options = {**CONNECTION, **OBJECT, **self.fields, **(more or {})}
        if self.update_option:
            options[self.update_option] = {"type": "str", "choices": ["on_create", "always"], "default": "on_create"}
            options[self.update_option]["no_log"] = False
        required = RULES["required_one_of"] + [("uid", *self.identifiers)]
        return {"argument_spec": options, "supports_check_mode": True, **RULES, "required_one_of": required}


def run(kind, more=None, complete=lambda module, console, fields: None, settle=lambda console, item: item):
    """Run a module. `complete` adds fields to those of the options. `settle` waits until an object is usable, and returns it."""
    module = AnsibleModule(**kind.arguments(more))
    try:
        module.exit_json(**_manage(module, kind, complete, settle))
    except Failed as error:
        module.fail_json(msg=str(error), status=error.status, error_code=error.code)


def run_settings(title, options, change):
    """Run a module that changes settings. `change` makes the changes, and returns the settings before them, and the changes."""
    module = AnsibleModule({**CONNECTION, **options}, supports_check_mode=True, **RULES)
    try:
        before, changes = change(module, Console(module.params, module.warn))
    except Failed as error:
        module.fail_json(msg=str(error), status=error.status, error_code=error.code)
    diff = {"before": {name: before.get(name) for name in changes}, "after": changes}
    module.exit_json(changed=bool(changes), diff=diff, **{title: {**before, **changes}})


def _manage(module, kind, complete, settle):
    console = Console(module.params, module.warn)
    current = _current(console, kind, module.params)
    if module.params["state"] == "absent":
        return _remove(module, console, kind, current)
    fields = {name: module.params[name] for name in ("name", *kind.fields) if module.params[name] is not None}
    complete(module, console, fields)
    if kind.hidden in module.params["settings"]:
        raise Failed(f"settings must not contain {kind.hidden}; use the option with this name, which is not logged")
    fields.update(module.params["settings"])
    if current is None:
        changes = fields
    else:
        is_kept = kind.hidden and module.params[kind.update_option] == "on_create"
        changes = differences(current, _without(fields, kind.hidden) if is_kept else fields)
    shown = {name: (current or {}).get(name) for name in changes}
    result = {
        "changed": bool(changes),
        "diff": {"before": _without(shown, kind.hidden) if current else {}, "after": _without(changes, kind.hidden)},
    }
    if not changes or module.check_mode:
        item = {**(current or {}), **changes}
    elif current is None:
        item = _wait(console, console.send("POST", kind.path, fields), settle)
    else:
        item = _wait(console, console.send("PUT", f"{kind.path}/{current['uid']}", changes), settle)
    return {**result, kind.title: _without(item, kind.hidden)}


def _current(console, kind, parameters):
    if parameters["uid"] is not None:
        found = console.find(kind.path, {"uid": parameters["uid"]})
        if found is None and parameters["state"] == "present":
            raise Failed(f"the {kind.title} with the uid {parameters['uid']} does not exist")
        return found
    name = next(each for each in kind.identifiers if parameters[each] is not None)
    return console.find(kind.path, {name: parameters[name]})


def _remove(module, console, kind, current):
    if current is not None and not module.check_mode:
        path = f"{kind.path}/{current['uid']}"
        reply = console.send("DELETE", path)
        if reply.get("action_uid"):
            console.wait_for_action(reply["action_uid"])
        console.wait_until(
            lambda: console.find(kind.path, {"uid": current["uid"]}) is None,
            f"the {kind.title} was not deleted within {console.wait_timeout} s; the deletion continues",
        )
    shown = {} if current is None else {name: current.get(name) for name in kind.identifiers}
    return {"changed": current is not None, "diff": {"before": shown, "after": {}}}


def _wait(console, item, settle):
    if item.get("action_uid"):
        console.wait_for_action(item["action_uid"])
    return settle(console, item)


def differences(current, wanted):
    """Return the wanted fields that the object does not have."""
    return {name: value for name, value in wanted.items() if not matches(current.get(name), value)}


def matches(current, wanted):
    """Return whether a value is the wanted one. Additional fields of objects, and the order of lists, do not matter."""
    if isinstance(wanted, dict) and isinstance(current, dict):
        return not differences(current, wanted)
    if isinstance(wanted, list) and isinstance(current, list):
        remaining = sorted(current, key=json.dumps)
        for each in wanted:
            match = next((other for other in remaining if matches(other, each)), None)
            if match is None:
                return False
            remaining.remove(match)
        return not remaining
    return current == wanted


def uid_of(module, console, title, path, identifier):
    """Return the uid of an object with a name or a uid. In check mode, an object that does not exist yet has its name as uid."""
    for each in console.get(path):
        if identifier in (each["name"], str(each["uid"])):
            return each["uid"]
    if module.check_mode:
        return identifier
    raise Failed(f"the {title} {identifier} does not exist")


def role_uids(module, console, fields):
    """Replace the names in `roles` by `role_uids`."""
    if module.params["roles"] is not None:
        fields["role_uids"] = [uid_of(module, console, "role", "/v1/roles", role) for role in module.params["roles"]]


def _without(fields, hidden):
    return {name: value for name, value in fields.items() if name != hidden}
