# The service alone, on an external PostgreSQL. Node.js comes with the image, so the optional packages stay out.
FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY scripts scripts
RUN npm ci --omit=dev --omit=optional && npm cache clean --force
COPY src src
COPY migrations migrations
USER node
EXPOSE 8080
CMD ["node", "--max-semi-space-size=4", "--heap-growing-percent=30", "scripts/run.mjs", "serve"]
