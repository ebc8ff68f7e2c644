/** Whether the browser prints the page. Content that is otherwise drawn only while visible is then complete. */
import { createStore } from './store';

export const printing = createStore(false);
