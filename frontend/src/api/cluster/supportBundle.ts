/** API of the support bundle. */
import { requestFile } from '../http';

/** Create a support bundle. Takes seconds, because all machines are queried. */
export const supportBundle = () => requestFile('/v1/cluster/debuginfo');
