# Builds the console, the pages of the portal, the client and the bundle of the service. What builds them is not in the final image.
FROM node:24-slim AS web
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY web/console/package.json web/console/
COPY web/portal/package.json web/portal/
COPY packages/client/package.json packages/client/
RUN npm ci --ignore-scripts --workspace=web/console --workspace=web/portal --workspace=packages/client --include-workspace-root
COPY scripts/build.mjs scripts/
COPY web/shared web/shared
COPY docs docs
COPY web/console web/console
COPY web/portal web/portal
COPY tsconfig.json ./
COPY packages/client packages/client
COPY src src
RUN node scripts/build.mjs

# The service alone, for an external PostgreSQL. The image has Node.js, so the optional packages are not installed; without the workspaces
# it has no demo and no simulated ERP.
FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY scripts/run.mjs scripts/after-install.mjs scripts/
RUN npm ci --omit=dev --omit=optional --workspaces=false && npm cache clean --force
COPY src src
COPY docs docs
COPY web/docs web/docs
COPY web/reference web/reference
COPY web/invitations web/invitations
COPY web/payments web/payments
COPY web/welcome web/welcome
COPY web/shared web/shared
COPY web/portal/files web/portal/files
COPY --from=web /app/web/console/dist web/console/dist
COPY --from=web /app/web/portal/dist web/portal/dist
COPY --from=web /app/packages/client/dist packages/client/dist
COPY --from=web /app/dist/service dist/service
COPY migrations migrations
COPY db/functions db/functions
# Node.js's compile cache: the only folder that the service's user may write to. Filled at build time for a fast start.
RUN mkdir -p node_modules/.cache/compiled && chown -R node:node node_modules/.cache
USER node
RUN node scripts/run.mjs compile
EXPOSE 8080
# A shutdown takes at most SHUTDOWN_SECONDS (25): give the container a little more (docker stop --time 30).
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "scripts/run.mjs", "serve"]
