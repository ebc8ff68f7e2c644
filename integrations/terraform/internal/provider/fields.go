package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// usage says who sets the value of an attribute.
type usage int

const (
	required usage = iota
	// optional attributes have a default, or stand for an empty value if they are missing.
	optional
	// adopted attributes are chosen by the console if they are missing.
	adopted
	// computed attributes can only be read.
	computed
)

// field is an attribute of a resource and the field of the REST API that it stands for.
type field struct {
	name        string
	api         string // name in the REST API, if it differs
	kind        attr.Type
	usage       usage
	fallback    attr.Value // default
	description string
	// isFixed replaces the object if the attribute changes, because the API cannot change it.
	isFixed bool
	// isVolatile marks a computed attribute that changes without a request, so its last value cannot be planned.
	isVolatile bool
	// isSecret hides the value. The attributes NAME_wo and NAME_wo_version set it without storing it.
	isSecret bool
	// presence is the field of replies that is false if the server has no value of a secret, which it does not return.
	presence string
	// isOmittedIfEmpty leaves the default out of requests that create an object, for servers without the field.
	isOmittedIfEmpty bool
	// isLocal marks attributes that exist in Terraform only.
	isLocal bool
	// isWriteOnly marks attributes that are never stored. It implies isLocal.
	isWriteOnly bool
	// encode and decode convert the JSON value, if its form differs from the attribute's.
	encode func(any) any
	decode func(any) any
	// reconcile returns the prior value if the current one differs from it in form only.
	reconcile func(prior, current attr.Value) attr.Value
	// optionalMembers are the attributes of nested objects that may be missing.
	optionalMembers []string
}

func (f field) apiName() string {
	if f.api != "" {
		return f.api
	}
	return f.name
}

func (f field) root() path.Path { return path.Root(f.name) }

func uidField(noun string) field {
	return field{name: "uid", kind: types.Int64Type, usage: computed, description: "Uid of the " + noun + "."}
}

// withSecretVariants adds the write-only variant of each secret.
func withSecretVariants(fields []field) []field {
	var all []field
	for _, each := range fields {
		all = append(all, each)
		if !each.isSecret {
			continue
		}
		all = append(all,
			field{
				name: writeOnlyName(each.name), kind: each.kind, usage: optional, isLocal: true, isWriteOnly: true,
				description: "Like `" + each.name + "`, but never stored in the state. Requires Terraform 1.11 and `" +
					versionName(each.name) + "`.",
			},
			field{
				name: versionName(each.name), kind: types.Int64Type, usage: optional, isLocal: true,
				description: "Change this number to send `" + writeOnlyName(each.name) + "` again.",
			},
		)
	}
	return all
}

func writeOnlyName(secret string) string { return secret + "_wo" }

func versionName(secret string) string { return secret + "_wo_version" }

func emptySet(element attr.Type) attr.Value { return types.SetValueMust(element, nil) }

func emptyMap(element attr.Type) attr.Value { return types.MapValueMust(element, nil) }
