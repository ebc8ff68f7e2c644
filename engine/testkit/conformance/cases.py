"""The compared commands: typical uses of each command family, and every command with keys of every type and with too few, too
many or invalid arguments."""

from collections.abc import Iterator
from typing import Any

# Not compared, for the reasons given in README.md.
LEFT_OUT = set(
    [
        "acl",
        "asking",
        "bgrewriteaof",
        "bgsave",
        "blmove",
        "blmpop",
        "blpop",
        "brpop",
        "brpoplpush",
        "bzmpop",
        "bzpopmax",
        "bzpopmin",
        "client",
        "cluster",
        "command",
        "config",
        "debug",
        "dump",
        "exec",
        "discard",
        "multi",
        "watch",
        "failover",
        "hello",
        "info",
        "keys",
        "lastsave",
        "latency",
        "lolwut",
        "memory",
        "migrate",
        "module",
        "monitor",
        "object",
        "pfdebug",
        "pfselftest",
        "psubscribe",
        "psync",
        "pubsub",
        "punsubscribe",
        "quit",
        "randomkey",
        "readonly",
        "readwrite",
        "replconf",
        "replicaof",
        "reset",
        "restore-asking",
        "role",
        "save",
        "scan",
        "select",
        "shutdown",
        "slaveof",
        "slowlog",
        "spop",
        "srandmember",
        "hrandfield",
        "zrandmember",
        "ssubscribe",
        "subscribe",
        "sunsubscribe",
        "swapdb",
        "move",
        "sync",
        "time",
        "unsubscribe",
        "wait",
        "waitaof",
        "xadd",
        "auth",
        "script",
        "function",
        "copy",
        "expiretime",
        "pexpiretime",
        "expire",
        "pexpire",
        "expireat",
        "pexpireat",
    ]
)

TYPES = {
    "string": ["SET", "{t}string", "10"],
    "list": ["RPUSH", "{t}list", "a", "b", "c"],
    "hash": ["HSET", "{t}hash", "f", "1", "g", "2"],
    "set": ["SADD", "{t}set", "a"],
    "zset": ["ZADD", "{t}zset", "1", "a", "2", "b"],
    "stream": ["XADD", "{t}stream", "1-1", "f", "v"],
    "none": ["PING"],
}

USES = """
SET {t}a 1|GET {t}a|SET {t}a 2 NX|SET {t}a 2 XX GET|GETSET {t}a 3|GETDEL {t}a|GET {t}a|SETNX {t}a 1|APPEND {t}a xyz
STRLEN {t}a|SET {t}a hello|GETRANGE {t}a 1 3|SETRANGE {t}a 1 XX|GET {t}a|SUBSTR {t}a 0 1|INCR {t}a|INCR {t}n|DECR {t}n
INCRBY {t}n 10|DECRBY {t}n 3|INCRBYFLOAT {t}n 1.5|INCRBY {t}n x|MSET {t}a 1 {t}b 2|MGET {t}a {t}b {t}c|MSETNX {t}a 1 {t}z 2
SET {t}a 1 EX 100|TTL {t}a|PERSIST {t}a|TTL {t}a|EXPIRE {t}a 100|TTL {t}a|GETEX {t}a PERSIST|TTL {t}a|TTL {t}none|SET {t}a 1 EX x
SETBIT {t}b 7 1|GETBIT {t}b 7|BITCOUNT {t}b|BITPOS {t}b 1|BITOP NOT {t}c {t}b|GET {t}c|BITFIELD {t}b SET u8 0 255 GET u4 0|BITFIELD_RO {t}b GET u8 0
RPUSH {t}l a b c|LPUSH {t}l z|LRANGE {t}l 0 -1|LLEN {t}l|LINDEX {t}l 1|LSET {t}l 0 y|LINSERT {t}l BEFORE a x|LREM {t}l 1 b|LTRIM {t}l 0 2|LPOP {t}l
RPUSH {t}l a b c a|LPOS {t}l a|LPOS {t}l a COUNT 0|LMOVE {t}l {t}m LEFT RIGHT|RPOPLPUSH {t}l {t}m|LRANGE {t}m 0 -1|RPOP {t}l 2|LMPOP 2 {t}l {t}m LEFT COUNT 2
HSET {t}h a 1 b 2|HGET {t}h a|HGETALL {t}h|HMGET {t}h a c|HKEYS {t}h|HVALS {t}h|HLEN {t}h|HEXISTS {t}h a|HINCRBY {t}h a 5|HINCRBYFLOAT {t}h b 0.5
HSET {t}h a 1|HSETNX {t}h a 2|HDEL {t}h a z|HSTRLEN {t}h a|HMSET {t}h x 1 y 2|HSCAN {t}h 0|HSCAN {t}h 0 NOVALUES|HGET {t}h
SADD {t}s a b c|SCARD {t}s|SISMEMBER {t}s a|SMISMEMBER {t}s a z|SREM {t}s a|SADD {t}u 1 2|SINTERCARD 2 {t}s {t}u|SMOVE {t}s {t}u b|SMEMBERS {t}none
SADD {t}s 1 2 3|SADD {t}u 2 3 4|SINTER {t}s {t}u|SUNION {t}s {t}u|SDIFF {t}s {t}u|SINTERSTORE {t}d {t}s {t}u|SUNIONSTORE {t}d {t}s {t}u|SDIFFSTORE {t}d {t}s {t}u|SMEMBERS {t}d|SSCAN {t}s 0
ZADD {t}z 1 a 2 b 3 c|ZSCORE {t}z a|ZRANGE {t}z 0 -1|ZRANGE {t}z 0 -1 WITHSCORES|ZREVRANGE {t}z 0 -1|ZRANK {t}z b|ZRANK {t}z b WITHSCORE|ZREVRANK {t}z b|ZCARD {t}z|ZCOUNT {t}z 1 2
ZADD {t}z 1 a 2 b 3 c|ZINCRBY {t}z 5 a|ZRANGEBYSCORE {t}z 0 10|ZREVRANGEBYSCORE {t}z 10 0 WITHSCORES LIMIT 0 1|ZMSCORE {t}z a x|ZPOPMIN {t}z|ZPOPMAX {t}z 1|ZREM {t}z b|ZADD {t}z GT CH 9 q|ZADD {t}z x y
ZADD {t}z 0 a 0 b 0 c|ZRANGEBYLEX {t}z - +|ZREVRANGEBYLEX {t}z + - LIMIT 0 1|ZLEXCOUNT {t}z [a [b|ZREMRANGEBYLEX {t}z [a [a|ZREMRANGEBYRANK {t}z 0 0|ZREMRANGEBYSCORE {t}z 0 0|ZSCAN {t}z 0
ZADD {t}z 1 a 2 b|ZADD {t}y 3 b 4 c|ZUNION 2 {t}z {t}y WITHSCORES|ZINTER 2 {t}z {t}y|ZDIFF 2 {t}z {t}y|ZUNIONSTORE {t}d 2 {t}z {t}y WEIGHTS 1 2|ZINTERSTORE {t}d 2 {t}z {t}y AGGREGATE MAX|ZDIFFSTORE {t}d 2 {t}z {t}y|ZINTERCARD 2 {t}z {t}y|ZMPOP 1 {t}z MIN|ZRANGESTORE {t}d {t}y 0 -1
GEOADD {t}g 13.361389 38.115556 P 15.087269 37.502669 C|GEODIST {t}g P C km|GEOHASH {t}g P C|GEOPOS {t}g P X|GEOSEARCH {t}g FROMLONLAT 15 37 BYRADIUS 200 km ASC WITHDIST|GEORADIUS {t}g 15 37 200 km|GEOSEARCHSTORE {t}d {t}g FROMMEMBER P BYBOX 400 400 km
PFADD {t}p a b c|PFCOUNT {t}p|PFADD {t}q c d|PFMERGE {t}r {t}p {t}q|PFCOUNT {t}p {t}q|TYPE {t}p
XADD {t}x 1-1 a 1|XADD {t}x 1-2 b 2|XLEN {t}x|XRANGE {t}x - +|XREVRANGE {t}x + - COUNT 1|XREAD COUNT 1 STREAMS {t}x 0|XDEL {t}x 1-1|XTRIM {t}x MAXLEN 0|XADD {t}x 1-1 a 1|XSETID {t}x 5-0
XADD {t}x 1-1 a 1|XGROUP CREATE {t}x g 0|XREADGROUP GROUP g c COUNT 1 STREAMS {t}x >|XPENDING {t}x g|XACK {t}x g 1-1|XGROUP CREATECONSUMER {t}x g d|XGROUP DELCONSUMER {t}x g d|XINFO GROUPS {t}x|XAUTOCLAIM {t}x g c 0 0|XCLAIM {t}x g c 0 1-1|XGROUP DESTROY {t}x g
SET {t}a 1|EXISTS {t}a {t}b {t}a|TYPE {t}a|RENAME {t}a {t}b|RENAMENX {t}b {t}c|COPY {t}c {t}d|TOUCH {t}c {t}x|UNLINK {t}c|DEL {t}d {t}x|DBSIZE|RENAME {t}no {t}b|OBJECT ENCODING {t}no
SET a 1|SET b 2|SET c 3|MGET a b c d|DBSIZE|EXISTS a b c d|TOUCH a b x|DEL a b x|UNLINK c x|DBSIZE|MSET a 1 b 2 c 3|MGET c b a|MSET a|MSET a 1 b|MGET|DEL|EXISTS
RPUSH {t}l 3 1 2|SORT {t}l|SORT {t}l DESC LIMIT 0 2|SORT {t}l ALPHA STORE {t}d|LRANGE {t}d 0 -1|SORT_RO {t}l|LCS {t}a {t}b|SORT {t}l BY x
EVAL return{1,2,{3,'x'}} 0|EVAL return(redis.call('set',KEYS[1],ARGV[1])) 1 {t}k v|EVAL return(redis.call('get',KEYS[1])) 1 {t}k|EVAL return(redis.error_reply('MY_ERR')) 0|EVAL nonsense( 0|EVALSHA ffffffffffffffffffffffffffffffffffffffff 0|EVAL_RO return(1) 0|EVAL return(1) -1|EVAL return(1) x
PING|PING hello|PING a b|ECHO hi|ECHO|SELECT 0|SELECT x|NOSUCHCOMMAND a b|GET|SET|SET a|PUBLISH ch m|PUBSUB CHANNELS|PUBSUB NUMSUB a|UNWATCH|EXEC|DISCARD
MULTI|SET {t}a 1|INCR {t}a|GET {t}a|EXEC|GET {t}a|MULTI|GET {t}a|DISCARD|MULTI|NOSUCH|EXEC|MULTI|EXEC|MULTI|MULTI|WATCH {t}a|EXEC
WATCH {t}a|MULTI|SET {t}a 2|EXEC|WATCH {t}a|SET {t}a 3|MULTI|SET {t}a 4|EXEC|GET {t}a|WATCH {t}a|UNWATCH|MULTI|GET|EXEC|MULTI|LPUSH {t}a x|INCR {t}a|EXEC
RPUSH {t}l a b|BLPOP {t}l 1|BRPOP {t}l 1|BLPOP {t}l 0.01|RPUSH {t}l a b|BLMOVE {t}l {t}m LEFT LEFT 1|BRPOPLPUSH {t}l {t}m 1|BLMPOP 1 2 {t}l {t}m LEFT|BLPOP {t}l x|ZADD {t}z 1 a 2 b|BZPOPMIN {t}z 1|BZPOPMAX {t}z 1|BZMPOP 0.01 1 {t}z MIN|XREAD BLOCK 10 STREAMS {t}x $
CLIENT GETNAME|CLIENT SETNAME x|CLIENT GETNAME|CLIENT SETNAME|CLIENT SETINFO lib-name n|CLIENT SETINFO x n|CLIENT NO-EVICT on|CLIENT NOSUCH|CLIENT REPLY x|CLIENT GETREDIR|CLIENT SETNAME
SCRIPT LOAD return(1)|SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db x|SCRIPT FLUSH|SCRIPT EXISTS x|SCRIPT NOSUCH|SCRIPT|FUNCTION LIST|FUNCTION DELETE nosuch|FUNCTION FLUSH|FUNCTION LOAD nonsense|FCALL nosuch 0|WAIT 0 10
FLUSHDB|FLUSHALL ASYNC|FLUSHALL x|KEYS *|RANDOMKEY|SCAN x|CONFIG GET maxmemory|CONFIG GET|COMMAND COUNT|COMMAND GETKEYS mset a 1 b 2|COMMAND INFO get|OBJECT HELP|MEMORY USAGE {t}none|LOLWUT x y
"""


def all_cases(table: list[list[Any]]) -> Iterator[list[list[str]]]:
    """Generate groups of commands. Each group starts with an empty database."""
    for line in USES.strip().splitlines():
        yield [words.split(" ") for words in line.split("|")]
    for name, arity, flags, first, *_ in table:
        if name in LEFT_OUT:
            continue
        yield [[name], [name, "{t}x"], [name, "{t}x", "{t}y", "{t}z", "1", "2", "3", "4", "5"]]
        if first != 1 or "movablekeys" in flags:
            continue
        for kind, create_value in TYPES.items():
            for filler in ("1", "x", "-1", "{t}other"):
                for extra in (0, 1, 2):
                    arguments = [filler] * (abs(arity) - 2 + extra)
                    yield [create_value, [name, "{t}" + kind, *arguments]]
