"""Tests of parsing the text replies of engines, including malformed ones."""

from hypothesis import given
from hypothesis import strategies as st

from shardboard.valkey.replies import ClusterLine, ClusterReader, cluster_lines, info_fields, info_number

TEXT = """\
07c37dfeb235213a872192d90877d0cd55635b91 127.0.0.1:30004@31004,,tls-port=0,shard-id=69bc slave \
e7d1eecce10fd6bb5eb35b9f99a514335d9ba9ca 0 1426238317239 4 connected
67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1 127.0.0.1:30002@31002,hostname2 master - 0 1426238316232 2 connected 5461-10922
292f8b365bb7edb5e285caf0b7e6ddc7265d2f4f 127.0.0.1:30003@31003 master,fail - 1426238316000 1426238315000 3 disconnected \
10923-12000 12002 12500-16383
6ec23923021cf3ffec47632106199cb7f496ce01 127.0.0.1:30005@31005 slave,fail? 67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1 \
1426238316500 1426238315000 5 connected
824fe116063bc5fcf9f4ffd895bc17aee7731ac3 127.0.0.1:30006@31006 master,noaddr - 0 0 0 disconnected
e7d1eecce10fd6bb5eb35b9f99a514335d9ba9ca 127.0.0.1:30001@31001 myself,master - 0 0 7 connected 0 \
[93-<-292f8b365bb7edb5e285caf0b7e6ddc7265d2f4f] [77->-67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1]

"""


def test_cluster_nodes_is_parsed() -> None:
    lines = cluster_lines(TEXT)
    assert {uid[:4]: (line.is_primary, line.is_healthy, line.epoch, line.slots) for uid, line in lines.items()} == {
        "07c3": (False, True, 4, ()),
        "67ed": (True, True, 2, ((5461, 10922),)),
        "292f": (True, False, 3, ((10923, 12000), (12002, 12002), (12500, 16383))),
        "6ec2": (False, False, 5, ()),
        "824f": (True, True, 0, ()),
        "e7d1": (True, True, 7, ((0, 0),)),
    }
    assert {uid[:4]: line.primary[:4] for uid, line in lines.items() if line.primary} == {
        "07c3": "e7d1",
        "6ec2": "67ed",
    }
    [migrating] = [line for line in lines.values() if line.migrating or line.importing]
    assert (dict(migrating.migrating), dict(migrating.importing)) == (
        {77: "67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1"},
        {93: "292f8b365bb7edb5e285caf0b7e6ddc7265d2f4f"},
    )


def test_owns_checks_all_slots() -> None:
    [line] = cluster_lines(f"{'a' * 40} 10.0.0.1:20001@25001 master - 0 0 1 connected 0-5 7").values()
    assert line.owns([0, 5, 7])
    assert not line.owns([5, 6])


def test_nodes_without_port_or_in_handshake_are_not_met() -> None:
    def line_of(address: str, flags: str) -> ClusterLine:
        return cluster_lines(f"{'a' * 40} {address} {flags} - 0 0 1 connected")["a" * 40]

    assert line_of("10.0.0.1:20001@25001", "master").is_known
    assert not line_of("10.0.0.1:0@25001", "master").is_known, "its port is not known yet"
    assert not line_of("10.0.0.1:20001@25001", "master,handshake").is_known


def test_primary_that_only_imports_has_no_slots_yet() -> None:
    line = f"{'a' * 40} 10.0.0.1:20001@25001 master - 0 0 1 connected [93-<-{'b' * 40}]"
    assert cluster_lines(line)["a" * 40].slots == ()
    assert cluster_lines("-LOADING\n\nshort line") == {}


def test_common_lines_of_shards_are_parsed_once() -> None:
    reader = ClusterReader()
    first, second = reader.read(TEXT), reader.read(TEXT.replace("1426238316500 1426238315000", "0 7"))
    assert all(first[uid] is second[uid] for uid in first)
    assert not any(line is first[uid] for uid, line in reader.read(TEXT.replace(":3000", ":3100")).items())


def test_info_is_parsed() -> None:
    fields = info_fields(
        "# Replication\r\nrole:slave\r\nslave0:ip=10.0.0.1,port=1\r\nmaster_repl_offset:12\r\n\r\nlag:-1"
    )
    assert fields == {"role": "slave", "slave0": "ip=10.0.0.1,port=1", "master_repl_offset": "12", "lag": "-1"}
    assert [info_number(fields, name) for name in ("master_repl_offset", "lag", "role", "absent")] == [12, 0, 0, 0]
    assert info_number(fields, "absent", 7) == 7


@given(st.text())
def test_arbitrary_info_text_is_parsed(text: str) -> None:
    fields = info_fields(text)
    assert all(info_number(fields, name) >= 0 for name in fields)
