package provider

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func (f field) isRequired() bool { return f.usage == required }

func (f field) isOptional() bool { return f.usage == optional || f.usage == adopted }

// text returns the description with the default.
func (f field) text() string {
	switch value := f.fallback.(type) {
	case types.String:
		return f.description + " Default: `" + value.ValueString() + "`."
	case types.Int64, types.Bool:
		return f.description + " Default: `" + value.String() + "`."
	}
	return f.description
}

// isComputed includes attributes with a default, which Terraform plans as computed.
func (f field) isComputed() bool {
	return f.usage == adopted || f.usage == computed || f.fallback != nil
}

// keepsState returns whether a plan contains the last value if the configuration has none.
func (f field) keepsState() bool { return f.isComputed() && f.fallback == nil && !f.isVolatile }

// attribute returns the declaration for Terraform. The last value is planned before the need for a replacement is determined,
// because an unknown value would replace the object.
func (f field) attribute() schema.Attribute {
	switch kind := f.kind.(type) {
	case types.SetType:
		return f.setAttribute(kind)
	case types.MapType:
		if element, isNested := kind.ElemType.(types.ObjectType); isNested {
			return schema.MapNestedAttribute{
				MarkdownDescription: f.text(), Required: true,
				NestedObject: schema.NestedAttributeObject{Attributes: f.members(element)},
			}
		}
		attribute := schema.MapAttribute{
			ElementType: kind.ElemType, MarkdownDescription: f.text(),
			Required: f.isRequired(), Optional: f.isOptional(), Computed: f.isComputed(),
		}
		if f.fallback != nil {
			attribute.Default = mapdefault.StaticValue(f.fallback.(types.Map))
		}
		return attribute
	}
	switch f.kind {
	case types.Int64Type:
		return f.numberAttribute()
	case types.BoolType:
		return f.flagAttribute()
	}
	return f.textAttribute()
}

func (f field) members(kind types.ObjectType) map[string]schema.Attribute {
	declared := make(map[string]schema.Attribute, len(kind.AttrTypes))
	for name, each := range kind.AttrTypes {
		member := field{name: name, kind: each}
		if slices.Contains(f.optionalMembers, name) {
			member.usage = optional
		}
		declared[name] = member.attribute()
	}
	return declared
}

func (f field) textAttribute() schema.Attribute {
	attribute := schema.StringAttribute{
		MarkdownDescription: f.text(), Sensitive: f.isSecret || f.isWriteOnly, WriteOnly: f.isWriteOnly,
		Required: f.isRequired(), Optional: f.isOptional(), Computed: f.isComputed(),
	}
	if f.fallback != nil {
		attribute.Default = stringdefault.StaticString(f.fallback.(types.String).ValueString())
	} else if f.usage == optional {
		attribute.Validators = []validator.String{notEmpty{}}
	}
	if f.keepsState() {
		attribute.PlanModifiers = append(attribute.PlanModifiers, stringplanmodifier.UseStateForUnknown())
	}
	if f.isFixed {
		attribute.PlanModifiers = append(attribute.PlanModifiers, stringplanmodifier.RequiresReplace())
	}
	return attribute
}

func (f field) numberAttribute() schema.Attribute {
	attribute := schema.Int64Attribute{
		MarkdownDescription: f.text(),
		Required:            f.isRequired(), Optional: f.isOptional(), Computed: f.isComputed(),
	}
	if f.fallback != nil {
		attribute.Default = int64default.StaticInt64(f.fallback.(types.Int64).ValueInt64())
	}
	if f.keepsState() {
		attribute.PlanModifiers = append(attribute.PlanModifiers, int64planmodifier.UseStateForUnknown())
	}
	if f.isFixed {
		attribute.PlanModifiers = append(attribute.PlanModifiers, int64planmodifier.RequiresReplace())
	}
	return attribute
}

func (f field) flagAttribute() schema.Attribute {
	attribute := schema.BoolAttribute{
		MarkdownDescription: f.text(),
		Required:            f.isRequired(), Optional: f.isOptional(), Computed: f.isComputed(),
	}
	if f.fallback != nil {
		attribute.Default = booldefault.StaticBool(f.fallback.(types.Bool).ValueBool())
	}
	if f.keepsState() {
		attribute.PlanModifiers = append(attribute.PlanModifiers, boolplanmodifier.UseStateForUnknown())
	}
	if f.isFixed {
		attribute.PlanModifiers = append(attribute.PlanModifiers, boolplanmodifier.RequiresReplace())
	}
	return attribute
}

func (f field) setAttribute(kind types.SetType) schema.Attribute {
	attribute := schema.SetAttribute{
		ElementType: kind.ElemType, MarkdownDescription: f.text(),
		Required: f.isRequired(), Optional: f.isOptional(), Computed: f.isComputed(),
	}
	if f.fallback != nil {
		attribute.Default = setdefault.StaticValue(f.fallback.(types.Set))
	}
	if f.isFixed {
		attribute.PlanModifiers = append(attribute.PlanModifiers, setplanmodifier.RequiresReplace())
	}
	return attribute
}
