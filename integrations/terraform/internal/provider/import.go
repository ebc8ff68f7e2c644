package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/shardboard/terraform-provider-shardboard/internal/client"
)

// namePrefix marks a name that could be taken for a uid.
const namePrefix = "name="

// ImportState accepts the uid of an object, or its name.
func (r *objectResource) ImportState(
	ctx context.Context, request resource.ImportStateRequest, reply *resource.ImportStateResponse,
) {
	owner, attribute := &r.object, "uid"
	if r.settings != nil {
		owner = r.settings.owner
		if owner == nil {
			r.importSettings(ctx, reply)
			return
		}
		attribute = owner.uidName()
	}
	uid, err := owner.find(ctx, r.config, request.ID)
	if err != nil {
		reply.Diagnostics.AddError(fmt.Sprintf("The %s cannot be imported", r.noun), err.Error())
		return
	}
	reply.Diagnostics.Append(reply.State.SetAttribute(ctx, path.Root(attribute), uid)...)
}

// importSettings imports the settings of the cluster, whatever the id is.
func (r *objectResource) importSettings(ctx context.Context, reply *resource.ImportStateResponse) {
	current, err := r.get(ctx, r.config, r.path)
	if err != nil {
		reply.Diagnostics.AddError(fmt.Sprintf("The %s cannot be imported", r.noun), err.Error())
		return
	}
	r.store(ctx, nil, current, &reply.State, &reply.Diagnostics)
}

// find returns the uid of the object with a uid or a name.
func (o object) find(ctx context.Context, config *config, id string) (int64, error) {
	if uid, err := strconv.ParseInt(id, 10, 64); err == nil {
		return uid, nil
	}
	name := strings.TrimPrefix(id, namePrefix)
	all, err := config.client.List(ctx, o.path)
	if err != nil {
		return 0, err
	}
	var uids []int64
	for _, each := range all {
		if slices.ContainsFunc(o.names, func(field string) bool { return each[field] == name }) {
			uid, err := uidOf(each)
			if err != nil {
				return 0, err
			}
			uids = append(uids, uid)
		}
	}
	switch len(uids) {
	case 0:
		return 0, fmt.Errorf("no %s has the name %q. Use an existing name, or a uid", o.noun, name)
	case 1:
		return uids[0], nil
	}
	return 0, fmt.Errorf("several objects have the name %q. Use one of the uids %v", name, uids)
}

func uidOf(found client.Object) (int64, error) {
	number, isNumber := found["uid"].(json.Number)
	if !isNumber {
		return 0, fmt.Errorf("the reply of the console contains no uid")
	}
	return number.Int64()
}
