{{/* Roles for the Secrets that a component reads; the argument has `root`, `component`, `name`, `values` and `subjects`. */}}
{{- define "berth.secretRoles" -}}
{{- range $namespace, $names := include "berth.readableSecrets" .values | fromJson }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $.name }}-secrets
  namespace: {{ $namespace }}
  labels:
    {{- include "berth.labels" $ | nindent 4 }}
rules:
- apiGroups: [""]
  resources: [secrets]
  resourceNames: {{ toJson $names }}
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $.name }}-secrets
  namespace: {{ $namespace }}
  labels:
    {{- include "berth.labels" $ | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $.name }}-secrets
subjects:
  {{- toYaml $.subjects | nindent 2 }}
{{- end }}
{{- end -}}
