//! Commands are executed as the user who has logged in.

use crate::lab::{Lab, SHARDS, wait};

fn on_all(lab: &Lab, command: &str) {
    for port in SHARDS {
        assert_eq!(lab.direct(port).command(command), "+OK\r\n", "{command}");
    }
}

#[test]
fn each_user_has_its_own_permissions() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    on_all(&lab, "ACL SETUSER reader on >secret ~* +@read +@connection");
    let (mut plain, mut reader) = (lab.client(), lab.client());
    assert_eq!(plain.command("SET a 1"), "+OK\r\n");
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    assert_eq!(reader.command("AUTH reader wrong"), wrong);
    assert_eq!(reader.command("SET a 2"), "+OK\r\n");
    assert_eq!(reader.command("AUTH reader secret"), "+OK\r\n");
    assert_eq!(reader.command("GET a"), "$1\r\n2\r\n");
    assert!(
        reader
            .command("SET a 3")
            .starts_with("-NOPERM User reader has no permissions to run the 'set' command")
    );
    assert_eq!(
        reader.command("ACL WHOAMI"),
        "-NOPERM User reader has no permissions to run the 'acl|whoami' command\r\n"
    );
    assert_eq!(plain.command("SET a 4"), "+OK\r\n");
    assert_eq!(reader.command("AUTH reader wrong"), wrong);
    assert!(reader.command("SET a 3").starts_with("-NOPERM"));
    assert!(reader.command("HELLO 3 AUTH reader secret SETNAME r").starts_with("%7\r\n"));
    assert!(reader.command("HELLO 3 AUTH reader no").starts_with("-WRONGPASS"));
    assert_eq!(reader.command("CLIENT GETNAME"), "$1\r\nr\r\n");
    assert_eq!(reader.command("MGET a none"), "*2\r\n$1\r\n4\r\n_\r\n");
    assert!(reader.command("CLIENT LIST").contains("name=r "));
    on_all(&lab, "ACL SETUSER reader -client|list");
    assert!(reader.command("CLIENT LIST").contains("name=r "));
    assert_eq!(reader.command("RESET"), "+RESET\r\n");
    assert_eq!(reader.command("SET a 5"), "+OK\r\n");
    assert!(
        plain.command("AUTH x").starts_with("-ERR AUTH <password> called without any password configured")
    );
}

#[test]
fn a_new_default_password_logs_out_clients_without_a_login() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let mut database = lab.database(&shards);
    let mut proxy = lab.proxy(&database);
    let mut direct = SHARDS.map(|port| lab.direct(port));
    let mut on_all = |command: &str| {
        for shard in &mut direct {
            assert_eq!(shard.command(command), "+OK\r\n", "{command}");
        }
    };
    let noauth = "-NOAUTH Authentication required.\r\n";
    let (mut plain, mut alone) = (lab.client(), lab.client());
    assert_eq!(plain.command("SET a 1"), "+OK\r\n");
    // Uses a dedicated connection, which is then available to the next client.
    assert_eq!(alone.command("WATCH a"), "+OK\r\n");
    assert_eq!(alone.command("UNWATCH"), "+OK\r\n");
    drop(alone);
    on_all("ACL SETUSER default on resetpass >first");
    database["access"] = serde_json::json!(1);
    proxy.apply(&database);
    for key in ["a", "b", "c"] {
        assert_eq!(lab.client().command(&format!("GET {key}")), noauth);
        assert_eq!(lab.client().command(&format!("WATCH {key}")), noauth);
    }
    assert_eq!(plain.command("GET a"), noauth);
    assert_eq!(plain.command("AUTH first"), "+OK\r\n");
    assert_eq!(plain.command("GET a"), "$1\r\n1\r\n");
    on_all("ACL SETUSER default on resetpass >second");
    database["access"] = serde_json::json!(2);
    proxy.apply(&database);
    assert_eq!(plain.command("GET a"), "$1\r\n1\r\n", "a logged-in client stays logged in");
    assert!(lab.client().command("AUTH first").starts_with("-WRONGPASS"));
    assert_eq!(lab.client().command("AUTH second"), "+OK\r\n");
    on_all("ACL SETUSER default on nopass");
    database["access"] = serde_json::json!(3);
    proxy.apply(&database);
    let mut client = lab.client();
    wait("a shard to report that no password is required", || client.command("GET a") == "$1\r\n1\r\n");
}

#[test]
fn without_the_database_password_nothing_is_executed() {
    let mut lab = Lab::new();
    let proxy = lab.hidden();
    on_all(&lab, "CONFIG SET requirepass secret");
    drop(proxy);
    let shards: Vec<_> = (0..3)
        .map(|n| {
            lab.shard(SHARDS[n], "primary", serde_json::json!([[n * 16384 / 3, (n + 1) * 16384 / 3 - 1]]))
        })
        .collect();
    let mut database = lab.database(&shards);
    let mut proxy = lab.proxy(&database);
    let (mut one, mut two) = (lab.client(), lab.client());
    let noauth = "-NOAUTH Authentication required.\r\n";
    wait("a shard to report that a password is required", || one.command("PING") == noauth);
    for line in ["GET a", "PING", "MGET a b c", "MULTI", "SUBSCRIBE a", "DBSIZE", "CLIENT ID"] {
        assert_eq!(one.command(line), noauth, "{line}");
    }
    assert!(one.command("HELLO 3").starts_with("-NOAUTH HELLO must be called"));
    assert!(one.command("AUTH wrong").starts_with("-WRONGPASS"));
    assert_eq!(one.command("GET a"), noauth);
    assert_eq!(one.command("AUTH secret"), "+OK\r\n");
    assert_eq!(one.command("SET a 1"), "+OK\r\n");
    assert_eq!(one.command("PING"), "+PONG\r\n");
    // No request has reached a shard.
    let refused = |lab: &Lab| {
        let mut shard = lab.direct(SHARDS[2]);
        shard.command("AUTH secret");
        let stats = shard.command("INFO errorstats");
        stats.lines().find(|line| line.starts_with("errorstat_NOAUTH")).map(str::to_string)
    };
    let before = refused(&lab);
    for line in ["GET a", "SET a 2", "EVAL return(1) 1 a", "MGET a b", "GET", "NOSUCH"] {
        assert_eq!(two.command(line), noauth, "{line}");
    }
    assert_eq!(refused(&lab), before);
    assert!(two.command("AUTH").starts_with("-ERR wrong number of arguments for 'auth' command"));
    assert_eq!(two.command("AUTH default secret"), "+OK\r\n");
    assert_eq!(two.command("GET a"), "$1\r\n1\r\n");
    // No memory is allocated for large requests.
    for (request, reply) in [
        (&b"*11\r\n"[..], "-ERR Protocol error: unauthenticated multibulk length\r\n"),
        (b"*2\r\n$4\r\nAUTH\r\n$16385\r\n", "-ERR Protocol error: unauthenticated bulk length\r\n"),
    ] {
        let mut client = lab.client();
        client.send_raw(request);
        assert_eq!(client.reply(), reply);
        assert_eq!(client.try_reply(), None);
    }
    two.send_raw(b"*11\r\n$4\r\nMGET\r\n");
    two.send_raw(&b"$1\r\na\r\n".repeat(10));
    assert!(two.reply().starts_with("*10\r\n$1\r\n1\r\n"));
    // Clients that do not log in are disconnected.
    database["login_timeout_ms"] = serde_json::json!(1_000);
    database["version"] = serde_json::json!(2);
    proxy.apply(&database);
    let mut silent = lab.client();
    assert_eq!(silent.try_reply(), None);
    assert_eq!(two.command("PING"), "+PONG\r\n");
}

#[test]
fn users_list_their_own_clients_and_data_administrators_all() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    on_all(&lab, "ACL SETUSER app on >secret ~app:* &* +@all -@admin");
    on_all(&lab, "ACL SETUSER reader on >secret ~* &* +@read +@connection");
    on_all(&lab, "ACL SETUSER full on >secret ~* &* +@all -@admin");
    let mut clients: Vec<_> = (0..4).map(|_| lab.client()).collect();
    let users = ["app", "app", "reader", "full"];
    for (n, (client, user)) in clients.iter_mut().zip(users).enumerate() {
        assert_eq!(client.command(&format!("AUTH {user} secret")), "+OK\r\n");
        assert_eq!(client.command(&format!("CLIENT SETNAME {user}{n}")), "+OK\r\n");
    }
    let mut plain = lab.client();
    assert!(clients[1].command("SSUBSCRIBE app:a").contains("ssubscribe"));
    let names = |reply: String| {
        let name =
            |line: &str| line.split(' ').find_map(|field| Some(field.strip_prefix("name=")?.to_string()));
        assert!(reply.starts_with('$'), "{reply}");
        reply.lines().filter_map(name).collect::<Vec<_>>().join(" ")
    };
    for (client, line, expected) in [
        (0, "", "app0 app1"),
        (0, " TYPE normal", "app0"),
        (0, " TYPE PUBSUB", "app1"),
        (0, " TYPE replica", ""),
        (0, " USER app", "app0 app1"),
        (0, " USER reader", ""),
        (2, "", "reader2"),
        (3, "", "app0 app1 reader2 full3 "),
        (3, " USER app TYPE pubsub", "app1"),
    ] {
        assert_eq!(names(clients[client].command(&format!("CLIENT LIST{line}"))), expected, "{client}{line}");
    }
    assert_eq!(names(plain.command("CLIENT LIST USER full")), "full3");
    let id = clients[3].command("CLIENT ID")[1..].trim_end().to_string();
    assert_eq!(names(clients[3].command(&format!("CLIENT LIST ID {id} 9999"))), "full3");
    assert_eq!(names(clients[0].command(&format!("CLIENT LIST ID {id}"))), "");
    for line in ["x y", "ID", "TYPE", "USER"] {
        assert_eq!(clients[0].command(&format!("CLIENT LIST {line}")), "-ERR syntax error\r\n");
    }
    // A full shard still knows the permissions.
    for port in SHARDS {
        lab.direct(port).command("CONFIG SET maxmemory 1");
    }
    assert_eq!(names(clients[3].command("CLIENT LIST USER reader")), "reader2");
}
