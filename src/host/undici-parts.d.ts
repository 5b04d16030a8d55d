// Modules of undici that are loaded one by one; the package has types for its index only.
declare module "undici/lib/dispatcher/agent.js" {
  export { Agent as default } from "undici";
}
declare module "undici/lib/dispatcher/env-http-proxy-agent.js" {
  export { EnvHttpProxyAgent as default } from "undici";
}
declare module "undici/lib/dispatcher/pool.js" {
  export { Pool as default } from "undici";
}
declare module "undici/lib/web/fetch/formdata.js" {
  import type { FormData } from "undici";

  const parts: { readonly FormData: typeof FormData };
  export default parts;
}
declare module "undici/lib/api/api-connect.js" {
  import type { Dispatcher } from "undici";

  const connect: (
    this: Dispatcher,
    options: Dispatcher.ConnectOptions,
  ) => Promise<Dispatcher.ConnectData>;
  export default connect;
}
declare module "undici/lib/api/api-request.js" {
  import type { Dispatcher } from "undici";

  const request: (
    this: Dispatcher,
    options: Dispatcher.RequestOptions,
  ) => Promise<Dispatcher.ResponseData>;
  export default request;
}
