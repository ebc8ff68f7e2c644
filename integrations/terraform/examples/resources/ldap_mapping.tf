resource "shardboard_ldap_mapping" "operators" {
  name      = "operators"
  dn        = "cn=operators,ou=groups,dc=example,dc=org"
  role_uids = [data.shardboard_role.db_member.uid]
}
