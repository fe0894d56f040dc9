{{/*
A pod of `helm test`; the argument has `root`, `name` and `args`, and for a pod that sees what a component sees also `of` (the name of the
component), its `account`, whether it needs a `token` of it, its `env`, and `mounts` and `volumes` beside the configuration.
*/}}
{{- define "berth.test.pod" -}}
apiVersion: v1
kind: Pod
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "berth.labels" (dict "root" .root "component" "test") | nindent 4 }}
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  restartPolicy: Never
  automountServiceAccountToken: {{ .token | empty | not }}
  {{- with .account }}
  serviceAccountName: {{ . }}
  {{- end }}
  {{- include "berth.pod.security" .root | nindent 2 }}
  containers:
    - name: berth
      {{- include "berth.container.security" .root | nindent 6 }}
      args: {{ toJson .args }}
      {{- with .env }}
      env:
        {{- . | nindent 8 }}
      {{- end }}
      resources:
        requests:
          cpu: 10m
          memory: 64Mi
        limits:
          memory: 256Mi
      {{- if .of }}
      volumeMounts:
        - name: config
          mountPath: /etc/config
          readOnly: true
        - name: secrets
          mountPath: /etc/secrets
          readOnly: true
        {{- with .mounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ .of }}-config
    - name: secrets
      secret:
        secretName: {{ .of }}-secrets
        defaultMode: 0440
    {{- with .volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
      {{- end }}
{{- end -}}

{{/* A mount of one key of a Secret at /etc/berth/<name>; the argument has `name`, `secret`, `key` and `path`. */}}
{{- define "berth.test.volume" -}}
{{- $items := list (dict "key" .key "path" .path) -}}
{{- toJson (dict "name" .name "secret" (dict "secretName" .secret "defaultMode" 288 "items" $items)) -}}
{{- end -}}
