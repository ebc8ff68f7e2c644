package provider

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// toJSON returns the JSON value of a known attribute. Missing members of objects are omitted.
func toJSON(value attr.Value) any {
	switch value := value.(type) {
	case types.String:
		return value.ValueString()
	case types.Int64:
		return value.ValueInt64()
	case types.Bool:
		return value.ValueBool()
	case types.Set:
		return listToJSON(value.Elements())
	case types.List:
		return listToJSON(value.Elements())
	case types.Map:
		return membersToJSON(value.Elements())
	case types.Object:
		return membersToJSON(value.Attributes())
	}
	panic(fmt.Sprintf("attributes of type %T are not supported", value))
}

func listToJSON(elements []attr.Value) any {
	list := make([]any, 0, len(elements))
	for _, each := range elements {
		list = append(list, toJSON(each))
	}
	return list
}

func membersToJSON(members map[string]attr.Value) any {
	object := make(map[string]any, len(members))
	for name, each := range members {
		if isKnown(each) {
			object[name] = toJSON(each)
		}
	}
	return object
}

// fromJSON returns the attribute of a JSON value. JSON null is a null attribute.
func fromJSON(kind attr.Type, value any) (attr.Value, error) {
	if value == nil {
		return nullOf(kind), nil
	}
	switch kind := kind.(type) {
	case types.SetType:
		elements, err := listFromJSON(kind.ElemType, value)
		if err != nil {
			return nil, err
		}
		return types.SetValueMust(kind.ElemType, elements), nil
	case types.ListType:
		elements, err := listFromJSON(kind.ElemType, value)
		if err != nil {
			return nil, err
		}
		return types.ListValueMust(kind.ElemType, elements), nil
	case types.MapType:
		return mapFromJSON(kind, value)
	case types.ObjectType:
		return objectFromJSON(kind, value)
	}
	return scalarFromJSON(kind, value)
}

func scalarFromJSON(kind attr.Type, value any) (attr.Value, error) {
	switch value := value.(type) {
	case string:
		if kind == types.StringType {
			return types.StringValue(value), nil
		}
	case bool:
		if kind == types.BoolType {
			return types.BoolValue(value), nil
		}
	case json.Number:
		if kind == types.StringType {
			return types.StringValue(value.String()), nil
		}
		if number, err := value.Int64(); err == nil && kind == types.Int64Type {
			return types.Int64Value(number), nil
		}
	}
	return nil, fmt.Errorf("%v is not a value of type %s", value, kind)
}

func listFromJSON(kind attr.Type, value any) ([]attr.Value, error) {
	list, isList := value.([]any)
	if !isList {
		return nil, fmt.Errorf("%v is not a list", value)
	}
	elements := make([]attr.Value, 0, len(list))
	for _, each := range list {
		element, err := fromJSON(kind, each)
		if err != nil {
			return nil, err
		}
		elements = append(elements, element)
	}
	return elements, nil
}

func mapFromJSON(kind types.MapType, value any) (attr.Value, error) {
	object, isObject := value.(map[string]any)
	if !isObject {
		return nil, fmt.Errorf("%v is not an object", value)
	}
	elements := make(map[string]attr.Value, len(object))
	for name, each := range object {
		element, err := fromJSON(kind.ElemType, each)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		elements[name] = element
	}
	return types.MapValueMust(kind.ElemType, elements), nil
}

func objectFromJSON(kind types.ObjectType, value any) (attr.Value, error) {
	object, isObject := value.(map[string]any)
	if !isObject {
		return nil, fmt.Errorf("%v is not an object", value)
	}
	members := make(map[string]attr.Value, len(kind.AttrTypes))
	for name, each := range kind.AttrTypes {
		member, err := fromJSON(each, object[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		members[name] = member
	}
	return types.ObjectValueMust(kind.AttrTypes, members), nil
}

func nullOf(kind attr.Type) attr.Value {
	ctx := context.Background()
	value, err := kind.ValueFromTerraform(ctx, tftypes.NewValue(kind.TerraformType(ctx), nil))
	if err != nil {
		panic(err) // null is a value of every type
	}
	return value
}

// isKnown returns whether the attribute has a value: it is neither null nor unknown.
func isKnown(value attr.Value) bool { return value != nil && !value.IsNull() && !value.IsUnknown() }
