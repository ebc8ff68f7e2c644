package provider

import (
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/shardboard/terraform-provider-shardboard/internal/client"
)

var role = object{
	name: "role", noun: "role", path: "/v1/roles", names: []string{"name"},
	description: "A role of users, with permissions in the console. `roles_permissions` of databases give it access to data.",
	fields: []field{
		uidField("role"),
		{name: "name", kind: types.StringType, description: "Name."},
		{
			name: "management", kind: types.StringType,
			description: "Permissions in the console: `admin`, `cluster_member`, `cluster_viewer`, `db_member`, " +
				"`db_viewer`, `user_manager`, or `none`.",
		},
		{
			name: "database_uids", api: "resources", kind: types.SetType{ElemType: types.Int64Type}, usage: optional,
			fallback: emptySet(types.Int64Type), isOmittedIfEmpty: true,
			encode: encodeResources, decode: decodeResources,
			description: "Uids of the databases that `db_member` and `db_viewer` are limited to; empty: all. Shardboard only.",
		},
	},
}

var redisACL = object{
	name: "redis_acl", noun: "Redis ACL", path: "/v1/redis_acls", names: []string{"name"},
	description: "A Redis ACL: commands and keys that `roles_permissions` of databases give to a role.",
	fields: []field{
		uidField("Redis ACL"),
		{name: "name", kind: types.StringType, description: "Name."},
		{
			name: "acl", kind: types.StringType, reconcile: reconcileACL,
			description: "Rules as in `ACL SETUSER`, without `on`, `off`, and passwords, such as `+@read ~orders:*`.",
		},
	},
}

var user = object{
	name: "user", noun: "user", path: "/v1/users", names: []string{"email", "name"},
	description: "A user of the console and, if databases give access to one of its roles, of these databases. " +
		"The API never returns passwords, so changes of them outside Terraform are not detected.",
	fields: withSecretVariants([]field{
		uidField("user"),
		{
			name: "email", kind: types.StringType, usage: optional, isFixed: true,
			description: "Email address to sign in with. Without it, the user signs in with `name`. Changes replace the user.",
		},
		{name: "name", kind: types.StringType, description: "Name."},
		{
			name: "role_uids", kind: types.SetType{ElemType: types.Int64Type},
			description: "Uids of the roles. The data source `shardboard_role` finds those of built-in roles.",
		},
		{
			name: "auth_method", kind: types.StringType, usage: optional, fallback: types.StringValue("regular"),
			isFixed: true, description: "`regular`: a password of the console; `sso`: single sign-on, without a password.",
		},
		{
			name: "password", kind: types.StringType, usage: optional, isSecret: true,
			description: "Password, for the authentication method `regular`.",
		},
	}),
}

var ldapMapping = object{
	name: "ldap_mapping", noun: "LDAP mapping", path: "/v1/ldap_mappings", names: []string{"name", "dn"},
	description: "A role that users of a group in the LDAP directory have.",
	fields: []field{
		uidField("LDAP mapping"),
		{name: "name", kind: types.StringType, description: "Name."},
		{name: "dn", kind: types.StringType, description: "DN of the group."},
		{
			name: "role_uids", kind: types.SetType{ElemType: types.Int64Type},
			description: "Uids of the roles. Shardboard accepts one.",
		},
		{name: "email", kind: types.StringType, usage: optional, description: "Email address for notifications."},
	},
}

func encodeResources(value any) any {
	uids := value.([]any)
	if len(uids) == 0 {
		return []any{}
	}
	return []any{client.Object{"type": "db", "uids": uids}}
}

func decodeResources(value any) any {
	uids := []any{}
	list, _ := value.([]any)
	for _, each := range list {
		entry, _ := each.(client.Object)
		found, _ := entry["uids"].([]any)
		uids = append(uids, found...)
	}
	return uids
}

// reconcileACL ignores differences of spaces, and of letters in commands and keywords.
func reconcileACL(prior, current attr.Value) attr.Value {
	words := func(value attr.Value) []string {
		separated := strings.NewReplacer("(", " ( ", ")", " ) ").Replace(value.(types.String).ValueString())
		return strings.Fields(separated)
	}
	isSame := func(a, b string) bool { return a == b || !strings.ContainsAny(a[:1], "~%&") && strings.EqualFold(a, b) }
	if slices.EqualFunc(words(prior), words(current), isSame) {
		return prior
	}
	return current
}
