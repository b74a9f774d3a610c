/** In place of the editor of YAML, which no page of the plugin opens, and which is larger than all the rest. */
export const editor = {};
export const languages = {};
