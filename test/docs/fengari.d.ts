/** What test/docs uses of fengari, an interpreter of Lua 5.3 that comes without types. Texts are arrays of bytes. */
declare module 'fengari' {
  type State = object;
  export const lauxlib: {
    luaL_newstate(): State;
    luaL_dostring(state: State, script: Uint8Array): number;
  };
  export const lualib: { luaL_openlibs(state: State): void };
  export const lua: {
    readonly LUA_OK: number;
    lua_getfield(state: State, index: number, name: Uint8Array): number;
    lua_newtable(state: State): void;
    lua_pop(state: State, count: number): void;
    lua_pushboolean(state: State, value: boolean): void;
    lua_pushnil(state: State): void;
    lua_pushnumber(state: State, value: number): void;
    lua_pushstring(state: State, text: Uint8Array): void;
    lua_setglobal(state: State, name: Uint8Array): void;
    lua_settable(state: State, index: number): void;
    /** Null for what is no text. */
    lua_tostring(state: State, index: number): Uint8Array | null;
  };
  export const to_jsstring: (text: Uint8Array) => string;
  export const to_luastring: (text: string) => Uint8Array;
}
