/** Short names for the generated wire shapes. Nothing here is written by hand twice. */
import type { components } from './schema';

type Schemas = components['schemas'];

export type Session = Schemas['SessionInfo'];
export type Bdb = Schemas['Bdb'];
export type CreateBdb = Schemas['BdbCreate'];
export type UpdateBdb = Schemas['BdbUpdate'];
export type Tag = Schemas['Tag'];
export type Shard = Schemas['Shard'];
export type Node = Schemas['Node'];
export type LogEvent = Schemas['Event'];
export type Action = Schemas['Action'];
export type Policy = Schemas['Policy'];
export type DrillOrder = Schemas['DrillOrder'];
export type DrillReply = Schemas['DrillReply'];
export type Endpoint = Schemas['EndpointState'];
export type EndpointProxy = Schemas['EndpointProxy'];
/** The proxy of a node, for all databases. */
export type NodeProxy = Schemas['Proxy'];
export type RestartOrder = Schemas['RestartOrder'];
export type RestartReply = Schemas['RestartReply'];
export type JoinToken = Schemas['JoinTokenOut'];
