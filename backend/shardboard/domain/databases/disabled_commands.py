"""Commands that are disabled for all users of a database (`disabled_commands`): syntax, and the rules for the engine."""

import re

NAMES = frozenset(
    (
        "acl", "acl|cat", "acl|deluser", "acl|dryrun", "acl|genpass", "acl|getuser", "acl|help", "acl|list", "acl|load",
        "acl|log", "acl|save", "acl|setuser", "acl|users", "acl|whoami", "append", "asking", "auth", "bgrewriteaof", "bgsave",
        "bitcount", "bitfield", "bitfield_ro", "bitop", "bitpos", "blmove", "blmpop", "blpop", "brpop", "brpoplpush", "bzmpop",
        "bzpopmax", "bzpopmin", "client", "client|caching", "client|capa", "client|getname", "client|getredir", "client|help",
        "client|id", "client|import-source", "client|info", "client|kill", "client|list", "client|no-evict", "client|no-touch",
        "client|pause", "client|reply", "client|setinfo", "client|setname", "client|tracking", "client|trackinginfo",
        "client|unblock", "client|unpause", "cluster", "clusterscan", "cluster|addslots", "cluster|addslotsrange",
        "cluster|bumpepoch", "cluster|cancelslotmigrations", "cluster|count-failure-reports", "cluster|countkeysinslot",
        "cluster|delslots", "cluster|delslotsrange", "cluster|failover", "cluster|flushslot", "cluster|flushslots",
        "cluster|forget", "cluster|getkeysinslot", "cluster|getslotmigrations", "cluster|help", "cluster|info", "cluster|keyslot",
        "cluster|links", "cluster|meet", "cluster|migrateslots", "cluster|myid", "cluster|myshardid", "cluster|nodes",
        "cluster|replicas", "cluster|replicate", "cluster|reset", "cluster|saveconfig", "cluster|set-config-epoch",
        "cluster|setslot", "cluster|shards", "cluster|slaves", "cluster|slot-stats", "cluster|slots", "cluster|syncslots",
        "command", "commandlog", "commandlog|get", "commandlog|help", "commandlog|len", "commandlog|reset", "command|count",
        "command|docs", "command|getkeys", "command|getkeysandflags", "command|help", "command|info", "command|list", "config",
        "config|get", "config|help", "config|resetstat", "config|rewrite", "config|set", "copy", "dbsize", "debug", "decr",
        "decrby", "del", "delifeq", "discard", "dump", "echo", "eval", "eval_ro", "evalsha", "evalsha_ro", "exec", "exists",
        "expire", "expireat", "expiretime", "failover", "fcall", "fcall_ro", "flushall", "flushdb", "function", "function|delete",
        "function|dump", "function|flush", "function|help", "function|kill", "function|list", "function|load", "function|restore",
        "function|stats", "geoadd", "geodist", "geohash", "geopos", "georadius", "georadius_ro", "georadiusbymember",
        "georadiusbymember_ro", "geosearch", "geosearchstore", "get", "getbit", "getdel", "getex", "getrange", "getset", "hdel",
        "hello", "hexists", "hexpire", "hexpireat", "hexpiretime", "hget", "hgetall", "hgetdel", "hgetex", "hincrby",
        "hincrbyfloat", "hkeys", "hlen", "hmget", "hmset", "hpersist", "hpexpire", "hpexpireat", "hpexpiretime", "hpttl",
        "hrandfield", "hscan", "hset", "hsetex", "hsetnx", "hstrlen", "httl", "hvals", "incr", "incrby", "incrbyfloat", "info",
        "keys", "lastsave", "latency", "latency|doctor", "latency|graph", "latency|help", "latency|histogram", "latency|history",
        "latency|latest", "latency|reset", "lcs", "lindex", "linsert", "llen", "lmove", "lmpop", "lolwut", "lpop", "lpos",
        "lpush", "lpushx", "lrange", "lrem", "lset", "ltrim", "memory", "memory|doctor", "memory|help", "memory|malloc-stats",
        "memory|purge", "memory|stats", "memory|usage", "mget", "migrate", "module", "module|help", "module|list", "module|load",
        "module|loadex", "module|unload", "monitor", "move", "mset", "msetex", "msetnx", "multi", "object", "object|encoding",
        "object|freq", "object|help", "object|idletime", "object|refcount", "persist", "pexpire", "pexpireat", "pexpiretime",
        "pfadd", "pfcount", "pfdebug", "pfmerge", "pfselftest", "ping", "psetex", "psubscribe", "psync", "pttl", "publish",
        "pubsub", "pubsub|channels", "pubsub|help", "pubsub|numpat", "pubsub|numsub", "pubsub|shardchannels",
        "pubsub|shardnumsub", "punsubscribe", "quit", "randomkey", "readonly", "readwrite", "rename", "renamenx", "replconf",
        "replicaof", "reset", "restore", "restore-asking", "role", "rpop", "rpoplpush", "rpush", "rpushx", "sadd", "save", "scan",
        "scard", "script", "script|debug", "script|exists", "script|flush", "script|help", "script|kill", "script|load",
        "script|show", "sdiff", "sdiffstore", "select", "set", "setbit", "setex", "setnx", "setrange", "shutdown", "sinter",
        "sintercard", "sinterstore", "sismember", "slaveof", "slowlog", "slowlog|get", "slowlog|help", "slowlog|len",
        "slowlog|reset", "smembers", "smismember", "smove", "sort", "sort_ro", "spop", "spublish", "srandmember", "srem", "sscan",
        "ssubscribe", "strlen", "subscribe", "substr", "sunion", "sunionstore", "sunsubscribe", "swapdb", "sync", "time", "touch",
        "ttl", "type", "unlink", "unsubscribe", "unwatch", "wait", "waitaof", "watch", "xack", "xadd", "xautoclaim", "xclaim",
        "xdel", "xgroup", "xgroup|create", "xgroup|createconsumer", "xgroup|delconsumer", "xgroup|destroy", "xgroup|help",
        "xgroup|setid", "xinfo", "xinfo|consumers", "xinfo|groups", "xinfo|help", "xinfo|stream", "xlen", "xpending", "xrange",
        "xread", "xreadgroup", "xrevrange", "xsetid", "xtrim", "zadd", "zcard", "zcount", "zdiff", "zdiffstore", "zincrby",
        "zinter", "zintercard", "zinterstore", "zlexcount", "zmpop", "zmscore", "zpopmax", "zpopmin", "zrandmember", "zrange",
        "zrangebylex", "zrangebyscore", "zrangestore", "zrank", "zrem", "zremrangebylex", "zremrangebyrank", "zremrangebyscore",
        "zrevrange", "zrevrangebylex", "zrevrangebyscore", "zrevrank", "zscan", "zscore", "zunion", "zunionstore",
    )
)  # fmt: skip
"""Commands of Valkey 9.1 (`COMMAND LIST`); subcommands follow a bar. Valkey 8.x has all but a few of them."""
REQUIRED_COMMANDS = frozenset(
    (
        *(
            "asking",
            "auth",
            "client",
            "cluster",
            "command",
            "discard",
            "echo",
            "exec",
            "hello",
            "info",
            "multi",
            "ping",
        ),
        *("quit", "readonly", "readwrite", "reset", "select", "unwatch", "watch"),
    )
)
"""Commands that endpoints answer themselves or need in order to work."""
MAX_LENGTH = 4096


class InvalidCommandList(ValueError):
    """The list is invalid; the text of the exception explains why."""


def parse(text: str) -> tuple[str, ...]:
    """Return unique command names in the engine's spelling from a list separated by commas or spaces. Raises Malformed."""
    if len(text) > MAX_LENGTH:
        raise InvalidCommandList(f"disabled_commands can have at most {MAX_LENGTH} characters.")
    names = tuple(dict.fromkeys(word.lower() for word in re.split(r"[\s,]+", text) if word))
    for name in names:
        if name not in NAMES:
            raise InvalidCommandList(
                f'The engine has no command "{name[:64]}". Write names as in "FLUSHALL, KEYS, XINFO|HELP".'
            )
        if name.partition("|")[0] in REQUIRED_COMMANDS:
            raise InvalidCommandList(f"{name} cannot be disabled, because clients and endpoints need it.")
    return names


def rules(text: str) -> tuple[str, ...]:
    """Return the rules that follow all other rules of each engine user; an invalid stored list yields none."""
    try:
        return tuple(f"-{name}" for name in parse(text))
    except InvalidCommandList:
        return ()
