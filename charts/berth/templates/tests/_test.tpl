{{/* A pod of `helm test`; the argument has `root`, `name`, `args` and, for a configuration, `of`. */}}
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
  automountServiceAccountToken: {{ .account | empty | not }}
  {{- with .account }}
  serviceAccountName: {{ . }}
  {{- end }}
  {{- include "berth.pod.security" .root | nindent 2 }}
  containers:
    - name: berth
      {{- include "berth.container.security" .root | nindent 6 }}
      args: {{ toJson .args }}
      resources:
        requests:
          cpu: 10m
          memory: 64Mi
        limits:
          memory: 256Mi
      {{- with .of }}
      volumeMounts:
        - name: config
          mountPath: /etc/config
          readOnly: true
        - name: secrets
          mountPath: /etc/secrets
          readOnly: true
  volumes:
    - name: config
      configMap:
        name: {{ . }}-config
    - name: secrets
      secret:
        secretName: {{ . }}-secrets
        defaultMode: 0440
      {{- end }}
{{- end -}}
