# Larimar as an image: built from this folder, run as an ordinary user.
#   docker build -t larimar .
#   docker run -p 10000-10003:10000-10003 -p 10445:10445 -v larimar-data:/data -e LARIMAR_ACCOUNTS=team:KEY larimar     one server, data in /data
# Several nodes: docker-compose.yml, deploy/kubernetes/, docs/scale-out.md.

FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Native parts come prebuilt inside their packages; the only script that counts is our own build, below.
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY src ./src
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:22-bookworm-slim
ENV NODE_ENV=production LARIMAR_HOST=0.0.0.0 LARIMAR_BLOB_PORT=10000 LARIMAR_QUEUE_PORT=10001 LARIMAR_TABLE_PORT=10002 LARIMAR_FILE_PORT=10003 LARIMAR_SMB_PORT=10445 LARIMAR_ADMIN_PORT=10004
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist/src ./dist/src
COPY package.json LICENSE README.md ./
# Where a server without --engine stores: ./larimar-data. A node of several writes nothing here.
RUN mkdir /data && chown node:node /data
VOLUME /data
WORKDIR /data
USER node
EXPOSE 10000 10001 10002 10003 10004 10445
# The process lives; whether it should get requests is /ready, which is for the load balancer to ask.
COPY deploy/health.mjs /app/health.mjs
HEALTHCHECK --interval=10s --timeout=3s --start-period=70s --retries=3 CMD ["node", "/app/health.mjs"]
ENTRYPOINT ["node", "--enable-source-maps", "/app/dist/src/cli/larimar.js"]
CMD ["serve"]
