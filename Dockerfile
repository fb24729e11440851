# Debian, not Alpine: the SDK's native core needs glibc.
FROM node:20-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# `prepare` would build, and the sources are not there yet.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY src src
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:20-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# A volume that is mounted here is writable, because a new one takes the owner of this folder.
RUN mkdir /data && chown node:node /data
USER node
ENTRYPOINT ["node", "/app/dist/cli/main.js"]
