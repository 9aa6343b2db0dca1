// adc opt --passes=match-products,tidy
// Three loops that add the product of two matrices to a third one become a call of the kernel.

func.func @f(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %c: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?x?xf64>
  %l = memref.dim %a, 1 : memref<?x?xf64>
  %m = memref.dim %b, 1 : memref<?x?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      scf.parallel (%k) = (%c0) to (%l) step (%c1) {
        %x = memref.load %a[%i, %k] : memref<?x?xf64>
        %y = memref.load %b[%k, %j] : memref<?x?xf64>
        %p = arith.mulf %x, %y fastmath<contract> : f64
        adc.accumulate %p, %c[%i, %j] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %c: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?x?xf64>
  %l = memref.dim %a, 1 : memref<?x?xf64>
  %m = memref.dim %b, 1 : memref<?x?xf64>
  %0 = memref.subview %b[%c0, %c0][%l, %m][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  %1 = memref.subview %c[%c0, %c0][%n, %m][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  %2 = adc.threads : index
  %3 = arith.ceildivsi %n, %2 : index
  scf.parallel (%x) = (%c0) to (%2) step (%c1) {
    %4 = arith.muli %x, %3 : index
    %5 = arith.subi %n, %4 : index
    %6 = arith.minsi %5, %3 : index
    %7 = arith.maxsi %6, %c0 : index
    %8 = memref.subview %a[%4, %c0][%7, %l][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
    %9 = memref.subview %1[%4, %c0][%7, %m][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64, strided<[?, 1], offset: ?>> to memref<?x?xf64, strided<[?, 1], offset: ?>>
    linalg.matmul ins(%8, %0 : memref<?x?xf64, strided<[?, 1], offset: ?>>, memref<?x?xf64, strided<[?, 1], offset: ?>>) outs(%9 : memref<?x?xf64, strided<[?, 1], offset: ?>>)
    scf.reduce()
  } {threads = true}
  func.return
}
