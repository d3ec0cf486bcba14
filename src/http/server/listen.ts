// Opens a port.
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Rejects with advice when the port is in use; `variable` is the environment variable that sets it. */
export function listen(server: Server, host: string, port: number, variable = 'PORT'): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`Port ${port} is in use. Choose another one with ${variable}=<number>.`, {
              cause: error,
            })
          : error,
      );
    });
    server.listen(port, host, () => resolve(server.address() as AddressInfo));
  });
}
