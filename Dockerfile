# The Larimar image. It is built from this folder and runs as an ordinary user. To build it, and to
# run one server that stores its data in /data:
#   docker build -t larimar .
#   docker run -p 10000-10003:10000-10003 -p 10445:10445 -v larimar-data:/data \
#     -e LARIMAR_ACCOUNTS=team:KEY larimar
# For several nodes see docker-compose.yml, deploy/kubernetes/ and docs/scale-out.md.

FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Packages with native code contain prebuilt binaries, so no install script is needed. Our own build
# runs below.
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY src ./src
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:22-bookworm-slim
ENV NODE_ENV=production LARIMAR_HOST=0.0.0.0 LARIMAR_BLOB_PORT=10000 LARIMAR_QUEUE_PORT=10001 \
    LARIMAR_TABLE_PORT=10002 LARIMAR_FILE_PORT=10003 LARIMAR_SMB_PORT=10445 LARIMAR_ADMIN_PORT=10004
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist/src ./dist/src
COPY package.json LICENSE README.md ./
# A server without --engine stores its data in ./larimar-data, below this folder. A node that shares
# a database with others writes nothing here.
RUN mkdir /data && chown node:node /data
VOLUME /data
WORKDIR /data
USER node
EXPOSE 10000 10001 10002 10003 10004 10445
# This checks only that the process is alive. Whether it should get requests is for the load balancer
# to check, with /ready.
COPY deploy/health.mjs /app/health.mjs
HEALTHCHECK --interval=10s --timeout=3s --start-period=70s --retries=3 CMD ["node", "/app/health.mjs"]
ENTRYPOINT ["node", "--enable-source-maps", "/app/dist/src/cli/larimar.js"]
CMD ["serve"]
