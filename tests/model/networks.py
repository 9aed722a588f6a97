"""The corpus: networks written in the usual ways."""

import attention
import hugging_face
import image_outputs
import images
import others
import residual_images
import sequences
import transformer_models

NETWORKS = [
    *others.NETWORKS,
    *sequences.NETWORKS,
    *images.NETWORKS,
    *residual_images.NETWORKS,
    *image_outputs.NETWORKS,
    *attention.NETWORKS,
    *transformer_models.NETWORKS,
    *hugging_face.NETWORKS,
]
